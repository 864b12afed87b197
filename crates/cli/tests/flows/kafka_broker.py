"""A broker of Kafka: that of librdkafka for tests. Prints where it listens, and then each message of a topic: kafka_broker.py TOPIC"""

import json
import sys

from confluent_kafka import Consumer, Producer

topic = sys.argv[1]
# It lives as long as this client.
broker = Producer({"bootstrap.servers": "-", "test.mock.num.brokers": 1, "log_level": 0})
(one,) = broker.list_topics(timeout=60).brokers.values()
address = f"{one.host}:{one.port}"
# The topic is made by its first use.
broker.list_topics(topic, timeout=60)
print(json.dumps({"event": "start", "broker": address}), flush=True)
consumer = Consumer({"bootstrap.servers": address, "group.id": "test", "auto.offset.reset": "earliest", "log_level": 0})
consumer.subscribe([topic])
while True:
    message = consumer.poll(60)
    if message is not None and not message.error():
        print(message.value().decode(), flush=True)
