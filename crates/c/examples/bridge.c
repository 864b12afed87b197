/* bridge NAME: creates a bridge with its settings in one message, and prints what the kernel made of it. */
#include <stdio.h>
#include <string.h>
#include <tapline.h>

/* The message has the kernel's reason. */
static int fail(tapline_error *error)
{
    const char *hint = tapline_error_hint(error);

    fprintf(stderr, "%s%s%s%s\n", tapline_error_message(error), hint ? " (" : "", hint ? hint : "", hint ? ")" : "");
    tapline_error_free(error);
    return 1;
}

/* Appends a text to JSON. */
static char *quote(char *to, const char *text)
{
    *to++ = '"';
    for (; *text != '\0'; text++) {
        const unsigned char letter = (unsigned char)*text;

        if (letter < 0x20) {
            to += sprintf(to, "\\u%04x", letter);
            continue;
        }
        if (letter == '"' || letter == '\\') {
            *to++ = '\\';
        }
        *to++ = (char)letter;
    }
    *to++ = '"';
    *to = '\0';
    return to;
}

int main(int argc, char **argv)
{
    tapline_netlink *netlink;
    tapline_list *list;
    tapline_error *error;
    const uint8_t *bytes;
    char object[256] = "{\"name\":";
    size_t length;

    if (argc != 2 || strlen(argv[1]) > 15) {
        fprintf(stderr, "usage: bridge NAME\n");
        return 2;
    }
    if (tapline_netlink_open(NULL, &netlink, &error) < 0) {
        return fail(error);
    }
    /* An ageing time of 123 s, in hundredths of a second. */
    strcpy(quote(object + strlen(object), argv[1]),
           ",\"up\":true,\"mtu\":1400,\"linkinfo\":{\"info_kind\":\"bridge\",\"info_data\":{\"ageing_time\":12300}}}");
    if (tapline_netlink_create(netlink, TAPLINE_NETLINK_OBJECT_LINK, TAPLINE_NETLINK_FORM_JSON,
                               (const uint8_t *)object, strlen(object), &list, &error) < 0) {
        tapline_netlink_close(netlink, NULL);
        return fail(error);
    }
    if (tapline_list_bytes(list, &bytes, &length, NULL) == TAPLINE_STATUS_OK) {
        fwrite(bytes, 1, length, stdout);
    }
    tapline_list_free(list, NULL);
    tapline_netlink_close(netlink, NULL);
    return 0;
}
