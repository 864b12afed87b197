"""Google Cloud Storage or Azure Blob Storage, as far as uploads need them, written from the services' documentation.

services.py google|azure FOLDER [deny]   serves the bucket or container "logs" on the loopback, and prints its port

A complete object is a file below FOLDER/logs; lists of them are empty. A line is printed for each part of an object. While there is a file FOLDER/busy, only
the first part of each object is taken. With "deny", Google's token is not the one that the metadata server gives.

https://cloud.google.com/storage/docs/xml-api/overview
https://learn.microsoft.com/rest/api/storageservices/authorize-with-shared-key
https://learn.microsoft.com/rest/api/storageservices/put-block-list
https://learn.microsoft.com/rest/api/storageservices/list-blobs
"""

import base64
import hashlib
import hmac
import json
import os
import signal
import sys
import urllib.parse
import xml.etree.ElementTree as xml
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

BUCKET = "logs"

# Google's, which its metadata server gives to a virtual machine.
TOKEN = "ya29.c0AbMnG7XzExampleToken"

# Azure's.
ACCOUNT = "store1"
KEY = base64.b64encode(b"a key of 32 bytes in base64, 1234").decode()
SAS_SIGNATURE = "c2lnbmF0dXJlLW9mLWEtc2hhcmVk"


class Refusal(Exception):
    """The answer to a request: its status and the code of the error."""


class Service(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    folder = ""
    denies = False
    # Parts by object, or by upload.
    parts = {}

    def log_message(self, *_):
        pass

    def answer(self, status, body="", headers=()):
        body = body.encode()
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def handle_request(self):
        self.body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        url = urllib.parse.urlsplit(self.path)
        self.encoded = url.path
        self.query = dict(urllib.parse.parse_qsl(url.query, keep_blank_values=True))
        bucket, _, self.key = urllib.parse.unquote(url.path)[1:].partition("/")
        try:
            if self.is_other_service():
                return
            self.authenticate()
            if bucket != BUCKET:
                raise Refusal(404, self.no_bucket)
            self.take()
        except Refusal as refusal:
            status, code = refusal.args
            text = f"\ufeff<?xml version='1.0'?><Error><Code>{code}</Code><Message>{self.secret()}</Message></Error>"
            self.answer(status, text, [("Content-Type", "application/xml")])

    do_PUT = do_POST = do_GET = handle_request

    def is_other_service(self):
        return False

    def add_part(self, of, name):
        parts = self.parts.setdefault(of, {})
        if parts and os.path.exists(f"{self.folder}/busy"):
            raise Refusal(503, "ServerBusy")
        parts[name] = self.body
        print(json.dumps({"event": "part", "md5": hashlib.md5(self.body).hexdigest()}), flush=True)

    def complete(self, data):
        path = f"{self.folder}/{BUCKET}/{self.key}"
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(f"{path}.half", "wb") as file:
            file.write(data)
        os.rename(f"{path}.half", path)


class Google(Service):
    no_bucket = "NoSuchBucket"

    def secret(self):
        return self.headers.get("Authorization")

    def is_other_service(self):
        if self.encoded != "/computeMetadata/v1/instance/service-accounts/default/token":
            return False
        if self.headers.get("Metadata-Flavor") != "Google":
            raise Refusal(403, "Forbidden")
        token = {"access_token": TOKEN, "expires_in": 3599, "token_type": "Bearer"}
        self.answer(200, json.dumps(token), [("Content-Type", "application/json")])
        return True

    def authenticate(self):
        if self.denies or self.headers.get("Authorization") != f"Bearer {TOKEN}":
            raise Refusal(401, "AuthenticationRequired")

    def take(self):
        if self.command == "GET" and not self.key and self.query.get("list-type") == "2":
            self.answer(200, f"<ListBucketResult><Name>{BUCKET}</Name></ListBucketResult>")
            return
        upload = self.query.get("uploadId")
        etag = f'"{hashlib.md5(self.body).hexdigest()}"'
        if self.command == "PUT" and upload is None:
            self.complete(self.body)
            self.answer(200, headers=[("ETag", etag)])
        elif self.command == "POST" and "uploads" in self.query:
            upload = f"upload {len(self.parts)}"
            self.parts[upload] = {}
            self.answer(200, f"<InitiateMultipartUploadResult><Bucket>{BUCKET}</Bucket><Key>{self.key}</Key><UploadId>{upload}</UploadId></InitiateMultipartUploadResult>")
        elif upload not in self.parts:
            raise Refusal(404, "NoSuchUpload")
        elif self.command == "PUT":
            self.add_part(upload, int(self.query["partNumber"]))
            self.answer(200, headers=[("ETag", etag)])
        else:
            data, before = b"", 0
            for part in xml.fromstring(self.body):
                number, etag = int(part.findtext("{*}PartNumber")), part.findtext("{*}ETag")
                piece = self.parts[upload].get(number)
                if piece is None or number <= before or hashlib.md5(piece).hexdigest() != etag.strip('"'):
                    raise Refusal(400, "InvalidPart")
                data, before = data + piece, number
            self.complete(data)
            self.answer(200, f"<CompleteMultipartUploadResult><Location>-</Location><Bucket>{BUCKET}</Bucket><Key>{self.key}</Key><ETag>whole</ETag></CompleteMultipartUploadResult>")


class Azure(Service):
    no_bucket = "ContainerNotFound"

    def secret(self):
        return f"Signature did not match: {self.query.get('sig')} {KEY}"

    def authenticate(self):
        if "sig" in self.query:
            is_right = self.query["sig"] == SAS_SIGNATURE
        else:
            is_right = self.headers.get("Authorization") == f"SharedKey {ACCOUNT}:{self.signature()}"
        if not is_right or "x-ms-version" not in self.headers:
            raise Refusal(403, "AuthenticationFailed")

    def signature(self):
        names = ["Content-Encoding", "Content-Language", "Content-Length", "Content-MD5", "Content-Type", "Date"]
        names += ["If-Modified-Since", "If-Match", "If-None-Match", "If-Unmodified-Since", "Range"]
        values = [self.headers.get(name, "") for name in names]
        if values[2] == "0":
            values[2] = ""
        text = "\n".join([self.command, *values]) + "\n"
        for name in sorted(name.lower() for name in self.headers.keys()):
            if name.startswith("x-ms-"):
                text += f"{name}:{self.headers[name].strip()}\n"
        text += f"/{ACCOUNT}{self.encoded}"
        for name in sorted(self.query, key=str.lower):
            text += f"\n{name.lower()}:{self.query[name]}"
        made = hmac.new(base64.b64decode(KEY), text.encode(), hashlib.sha256)
        return base64.b64encode(made.digest()).decode()

    def take(self):
        created = [("ETag", '"0x8D"'), ("Last-Modified", "Sat, 28 Nov 2026 16:00:00 GMT")]
        kind = self.query.get("comp")
        if self.command == "GET" and kind == "list" and self.query.get("restype") == "container":
            if "l" not in self.query.get("sp", "l"):
                raise Refusal(403, "AuthorizationPermissionMismatch")
            self.answer(200, "<EnumerationResults><Blobs></Blobs></EnumerationResults>")
            return
        if self.command != "PUT":
            raise Refusal(405, "UnsupportedHttpVerb")
        if kind == "block":
            name = base64.b64decode(self.query["blockid"], validate=True)
            if any(len(other) != len(name) for other in self.parts.get(self.key, [])):
                raise Refusal(400, "InvalidBlobOrBlock")
            self.add_part(self.key, name)
        elif kind == "blocklist":
            blocks = self.parts.get(self.key, {})
            names = [base64.b64decode(one.text) for one in xml.fromstring(self.body)]
            if any(name not in blocks for name in names):
                raise Refusal(400, "InvalidBlockList")
            self.complete(b"".join(blocks[name] for name in names))
            self.parts.pop(self.key, None)
        elif self.headers.get("x-ms-blob-type") == "BlockBlob":
            self.complete(self.body)
        else:
            raise Refusal(400, "MissingRequiredHeader")
        self.answer(201, headers=created)


if __name__ == "__main__":
    kind, Service.folder, *rest = sys.argv[1:]
    Service.denies = rest == ["deny"]
    signal.signal(signal.SIGINT, lambda *_: sys.exit(0))
    server = ThreadingHTTPServer(("127.0.0.1", 0), {"google": Google, "azure": Azure}[kind])
    print(json.dumps({"event": "start", "port": server.server_port}), flush=True)
    server.serve_forever()
