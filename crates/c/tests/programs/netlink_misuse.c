/* netlink_misuse: what C code may do wrong with netlink is an error, and never a crash. */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <unistd.h>

#include "check.h"

enum { JSON = TAPLINE_NETLINK_FORM_JSON, FIELDS = TAPLINE_NETLINK_FORM_FIELDS, MESSAGE = TAPLINE_NETLINK_FORM_MESSAGE };
enum { LINK = TAPLINE_NETLINK_OBJECT_LINK, ADD = TAPLINE_NETLINK_VERB_ADD };

static const uint8_t *bytes(const char *text) { return (const uint8_t *)text; }

/* The fake kernel and a handle on it. */
static tapline_netlink *open_fake(tapline_fake_kernel **fake) {
    tapline_netlink *netlink = NULL;
    OK(tapline_fake_kernel_new(fake, &error));
    const tapline_netlink_options options = {.size = sizeof options, .fake = *fake};
    OK(tapline_netlink_open(&options, &netlink, &error));
    return netlink;
}

static void add_link(tapline_netlink *netlink, const char *json) {
    OK(tapline_netlink_change(netlink, ADD, LINK, JSON, bytes(json), strlen(json), &error));
}

static void arguments(void) {
    tapline_fake_kernel *fake = NULL;
    tapline_netlink *netlink = open_fake(&fake);
    tapline_netlink_options options = {.size = sizeof options, .fake = fake, .netns = "blue"};
    tapline_netlink *other = NULL;
    FAILS(TAPLINE_STATUS_INVALID_ARGUMENT, "out_netlink is null", tapline_netlink_open(&options, NULL, &error));
    FAILS(TAPLINE_STATUS_INVALID_ARGUMENT, "no namespaces", tapline_netlink_open(&options, &other, &error));
    options.fake = NULL;
    FAILS(TAPLINE_STATUS_NOT_FOUND, "blue", tapline_netlink_open(&options, &other, &error));
    options.netns = "";
    FAILS(TAPLINE_STATUS_INVALID_ARGUMENT, "\"\" is not the name of a network namespace",
          tapline_netlink_open(&options, &other, &error));
    options.netns = "\xff";
    FAILS(TAPLINE_STATUS_INVALID_ARGUMENT, "not UTF-8", tapline_netlink_open(&options, &other, &error));
    options.size = 3;
    FAILS(TAPLINE_STATUS_INVALID_ARGUMENT, "the size of", tapline_netlink_open(&options, &other, &error));
    CHECK(other == NULL);

    const char *text = "{\"name\": 7}";
    FAILS(TAPLINE_STATUS_INVALID_ARGUMENT, "", tapline_netlink_change(netlink, ADD, LINK, JSON, bytes(text), 11, &error));
    FAILS(TAPLINE_STATUS_INVALID_ARGUMENT, "", tapline_netlink_change(netlink, ADD, LINK, JSON, bytes(text), 5, &error));
    const char *misspelt = "{\"name\":\"d0\",\"linkinfo\":{\"info_kind\":\"dummy\"},\"mtuu\":1400}";
    FAILS(TAPLINE_STATUS_INVALID_ARGUMENT, "Link: the field \"mtuu\" is unknown here",
          tapline_netlink_change(netlink, ADD, LINK, JSON, bytes(misspelt), strlen(misspelt), &error));
    const char *wrong = "{\"name\":\"d0\",\"mtu\":\"x\"}";
    FAILS(TAPLINE_STATUS_INVALID_ARGUMENT, "Link.mtu: invalid type: string \"x\", expected a number from 0 to 4294967295",
          tapline_netlink_change(netlink, ADD, LINK, JSON, bytes(wrong), strlen(wrong), &error));
    /* An interface by its name. */
    const char *missing = "{\"dev\":\"nowhere0\",\"local\":\"192.0.2.1\"}";
    FAILS(TAPLINE_STATUS_NOT_FOUND, "cannot add address: there is no interface \"nowhere0\" (dev)",
          tapline_netlink_change(netlink, ADD, TAPLINE_NETLINK_OBJECT_ADDR, JSON, bytes(missing), strlen(missing), &error));
    const char *named = "{\"dev\":\"d9\",\"local\":\"192.0.2.1\",\"prefixlen\":24}";
    add_link(netlink, "{\"name\":\"d9\",\"linkinfo\":{\"info_kind\":\"dummy\"}}");
    OK(tapline_netlink_change(netlink, ADD, TAPLINE_NETLINK_OBJECT_ADDR, JSON, bytes(named), strlen(named), &error));
    FAILS(TAPLINE_STATUS_INVALID_ARGUMENT, "bytes is null",
          tapline_netlink_change(netlink, ADD, LINK, JSON, NULL, 11, &error));
    FAILS(TAPLINE_STATUS_INVALID_ARGUMENT, "99", tapline_netlink_change(netlink, 99, LINK, JSON, bytes("{}"), 2, &error));
    FAILS(TAPLINE_STATUS_INVALID_ARGUMENT, "98", tapline_netlink_change(netlink, ADD, 98, JSON, bytes("{}"), 2, &error));
    FAILS(TAPLINE_STATUS_INVALID_ARGUMENT, "97", tapline_netlink_change(netlink, ADD, LINK, 97, bytes("{}"), 2, &error));

    /* Fields that end too early, that no link has, and whose length is beyond their end. */
    const uint32_t unknown[] = {0x12345678, 0};
    FAILS(TAPLINE_STATUS_INVALID_ARGUMENT, "no field",
          tapline_netlink_change(netlink, ADD, LINK, FIELDS, (const uint8_t *)unknown, 8, &error));
    FAILS(TAPLINE_STATUS_INVALID_ARGUMENT, "truncated",
          tapline_netlink_change(netlink, ADD, LINK, FIELDS, (const uint8_t *)unknown, 7, &error));
    const uint32_t beyond[] = {0x12345678, UINT32_MAX};
    FAILS(TAPLINE_STATUS_INVALID_ARGUMENT, "truncated",
          tapline_netlink_change(netlink, ADD, LINK, FIELDS, (const uint8_t *)beyond, 8, &error));
    FAILS(TAPLINE_STATUS_INVALID_ARGUMENT, "out_list is null",
          tapline_netlink_list(netlink, LINK, JSON, NULL, 0, NULL, &error));
    tapline_list *list = NULL;
    /* Nothing says which object is meant. */
    for (uint32_t object = LINK; object <= TAPLINE_NETLINK_OBJECT_NEXTHOP; ++object) {
        FAILS(TAPLINE_STATUS_INVALID_ARGUMENT, "cannot remove",
              tapline_netlink_change(netlink, TAPLINE_NETLINK_VERB_DEL, object, JSON, bytes("{}"), 2, &error));
        FAILS(TAPLINE_STATUS_INVALID_ARGUMENT, "cannot get",
              tapline_netlink_get(netlink, object, JSON, bytes("{}"), 2, &list, &error));
    }
    FAILS(TAPLINE_STATUS_NOT_FOUND, "nowhere0",
          tapline_netlink_get(netlink, LINK, JSON, bytes("{\"name\":\"nowhere0\"}"), 19, &list, &error));
    tapline_batch *batch = NULL;
    FAILS(TAPLINE_STATUS_INVALID_ARGUMENT, "truncated",
          tapline_netlink_run(netlink, (const uint8_t *)unknown, 8, 0, &batch, &error));
    /* An item that is complete before one that is not. */
    static const char dummy[] = "{\"name\":\"d7\",\"linkinfo\":{\"info_kind\":\"dummy\"}}";
    struct {
        uint32_t header[3];
        char item[sizeof dummy - 1];
        char rest[5];
    } items = {.header = {ADD + 256 * JSON, LINK, sizeof dummy - 1}};
    memcpy(items.item, dummy, sizeof items.item);
    FAILS(TAPLINE_STATUS_INVALID_ARGUMENT, "truncated",
          tapline_netlink_run(netlink, (const uint8_t *)&items, offsetof(__typeof__(items), rest) + 5, 0, &batch, &error));
    FAILS(TAPLINE_STATUS_NOT_FOUND, "d7", tapline_netlink_get(netlink, LINK, JSON, bytes("{\"name\":\"d7\"}"), 13, &list, &error));
    FAILS(TAPLINE_STATUS_INVALID_ARGUMENT, "9 is no", tapline_netlink_run(netlink, NULL, 0, 9, &batch, &error));
    FAILS(TAPLINE_STATUS_INVALID_ARGUMENT, "out_batch is null", tapline_netlink_run(netlink, NULL, 0, 0, NULL, &error));
    CHECK(list == NULL && batch == NULL);
    OK(tapline_netlink_close(netlink, &error));
    OK(tapline_fake_kernel_free(fake, &error));
}

/* A request with a field that the kernel only reports would succeed without effect. */
static void read_only_fields(void) {
    static const struct {
        uint32_t object;
        const char *json, *field;
    } requests[] = {
        {LINK, "{\"name\":\"d9\",\"min_mtu\":68}", "min_mtu"},
        {LINK, "{\"name\":\"d9\",\"mtu\":1400,\"promiscuity\":1}", "promiscuity"},
        {LINK, "{\"name\":\"d9\",\"hardware\":1}", "hardware"},
        {LINK, "{\"name\":\"d9\",\"flags\":1}", "flags"},
        {LINK, "{\"name\":\"d9\",\"carrier_changes\":1}", "carrier_changes"},
        {LINK, "{\"name\":\"d9\",\"qdisc\":\"fq\"}", "qdisc"},
        {LINK, "{\"name\":\"d9\",\"statistics\":{\"rx_packets\":1}}", "statistics"},
        {LINK, "{\"name\":\"d9\",\"linkinfo\":{\"info_kind\":\"bridge\",\"info_data\":{\"root_port\":1}}}",
         "linkinfo.info_data.root_port"},
        {TAPLINE_NETLINK_OBJECT_ROUTE, "{\"dst\":\"192.0.2.0/24\",\"nexthops\":[{\"dev\":1,\"flags\":[\"dead\"]}]}",
         "nexthops.flags"},
        {TAPLINE_NETLINK_OBJECT_ROUTE, "{\"dst\":\"192.0.2.0/24\",\"type\":\"blackhole\",\"mark\":7}", "mark"},
        {TAPLINE_NETLINK_OBJECT_ADDR, "{\"dev\":1,\"local\":\"2001:db8::1\",\"tentative\":true}", "tentative"},
        {TAPLINE_NETLINK_OBJECT_ADDR, "{\"dev\":1,\"local\":\"2001:db8::1\",\"stable-privacy\":true}", "stable_privacy"},
        {TAPLINE_NETLINK_OBJECT_ADDR, "{\"dev\":1,\"local\":\"2001:db8::1\",\"anycast\":\"2001:db8::2\"}", "anycast"},
        {TAPLINE_NETLINK_OBJECT_VLAN, "{\"dev\":1,\"vlan\":7,\"rx_bytes\":1}", "rx_bytes"},
    };
    tapline_fake_kernel *fake = NULL;
    tapline_netlink *netlink = open_fake(&fake);
    for (size_t at = 0; at < sizeof requests / sizeof *requests; at++) {
        char expected[64];
        snprintf(expected, sizeof expected, ": %s is read-only", requests[at].field);
        const uint8_t *const json = bytes(requests[at].json);
        const size_t length = strlen(requests[at].json);
        for (uint32_t verb = ADD; verb <= TAPLINE_NETLINK_VERB_SET; verb += TAPLINE_NETLINK_VERB_SET - ADD) {
            FAILS(TAPLINE_STATUS_INVALID_ARGUMENT, expected,
                  tapline_netlink_change(netlink, verb, requests[at].object, JSON, json, length, &error));
            uint8_t item[256];
            const uint32_t header[] = {verb + 256 * JSON, requests[at].object, (uint32_t)length};
            memcpy(item, header, sizeof header);
            memcpy(item + sizeof header, json, length);
            tapline_batch *batch = NULL;
            tapline_item_state state = TAPLINE_ITEM_STATE_DONE;
            tapline_error *failure = NULL;
            OK(tapline_netlink_run(netlink, item, sizeof header + length, 0, &batch, &error));
            OK(tapline_batch_result(batch, 0, &state, &failure, &error));
            CHECK(state == TAPLINE_ITEM_STATE_FAILED && strstr(tapline_error_message(failure), expected) != NULL);
            tapline_error_free(failure);
            OK(tapline_batch_free(batch, &error));
        }
        tapline_list *list = NULL;
        FAILS(TAPLINE_STATUS_INVALID_ARGUMENT, expected,
              tapline_netlink_create(netlink, requests[at].object, JSON, json, length, &list, &error));
        /* They are for filters. */
        OK(tapline_netlink_list(netlink, requests[at].object, JSON, json, length, &list, &error));
        OK(tapline_list_free(list, &error));
    }
    OK(tapline_netlink_close(netlink, &error));
    OK(tapline_fake_kernel_free(fake, &error));
}

/* A link without a type, which the kernel calls unknown. Needs the real kernel, which the fake one does not have. */
static void link_without_type(void) {
    tapline_netlink *netlink = NULL;
    OK(tapline_netlink_open(NULL, &netlink, &error));
    const char *const text = "{\"name\":\"d9\"}";
    tapline_error *failure = NULL;
    CHECK(tapline_netlink_change(netlink, ADD, LINK, JSON, bytes(text), strlen(text), &failure) < 0);
    CHECK(tapline_error_hint(failure) != NULL && strstr(tapline_error_hint(failure), "give a type") != NULL);
    tapline_error_free(failure);
    OK(tapline_netlink_close(netlink, &error));
}

/* A length of 16 bits must not wrap: the rest of the text would be read as attributes. */
static void long_fields(void) {
    enum { LENGTH = 70000 };
    tapline_fake_kernel *fake = NULL;
    tapline_netlink *netlink = open_fake(&fake);
    add_link(netlink, "{\"name\":\"d9\",\"linkinfo\":{\"info_kind\":\"dummy\"}}");
    static char json[LENGTH + 64];
    char *const rest = stpcpy(json, "{\"name\":\"d9\",\"alias\":\"");
    memset(rest, 'a', LENGTH);
    strcpy(rest + LENGTH, "\"}");
    FAILS(TAPLINE_STATUS_INVALID_ARGUMENT, "ifalias has 70005 bytes, and an attribute at most 65535",
          tapline_netlink_change(netlink, TAPLINE_NETLINK_VERB_SET, LINK, JSON, bytes(json), strlen(json), &error));
    OK(tapline_netlink_close(netlink, &error));
    OK(tapline_fake_kernel_free(fake, &error));
}

/* An interface that cannot be looked for is not one that does not exist. */
static void no_descriptors(void) {
    static const char *const address = "{\"dev\":\"lo\",\"local\":\"127.0.0.7\"}";
    enum { ADDR = TAPLINE_NETLINK_OBJECT_ADDR };
    tapline_netlink *netlink = NULL;
    OK(tapline_netlink_open(NULL, &netlink, &error));
    struct rlimit before;
    CHECK(getrlimit(RLIMIT_NOFILE, &before) == 0);
    const int next = dup(0);
    CHECK(next >= 0 && close(next) == 0);
    const struct rlimit none = {.rlim_cur = (rlim_t)next, .rlim_max = before.rlim_max};
    CHECK(setrlimit(RLIMIT_NOFILE, &none) == 0);
    tapline_error *failure = NULL;
    CHECK(tapline_netlink_change(netlink, ADD, ADDR, JSON, bytes(address), strlen(address), &failure) ==
          TAPLINE_STATUS_SYSTEM);
    CHECK(tapline_error_os_error(failure) == EMFILE);
    CHECK(strstr(tapline_error_message(failure), "cannot add address: ") == tapline_error_message(failure));
    tapline_error_free(failure);
    /* Also of an item of a batch. */
    struct {
        uint32_t header[3];
        char item[64];
    } items = {.header = {ADD + 256 * JSON, ADDR, (uint32_t)strlen(address)}};
    strcpy(items.item, address);
    tapline_batch *batch = NULL;
    tapline_item_state state = TAPLINE_ITEM_STATE_DONE;
    OK(tapline_netlink_run(netlink, (const uint8_t *)&items, sizeof items.header + strlen(address), 0, &batch, &error));
    OK(tapline_batch_result(batch, 0, &state, &failure, &error));
    CHECK(state == TAPLINE_ITEM_STATE_FAILED && tapline_error_os_error(failure) == EMFILE);
    tapline_error_free(failure);
    OK(tapline_batch_free(batch, &error));
    CHECK(setrlimit(RLIMIT_NOFILE, &before) == 0);
    OK(tapline_netlink_change(netlink, ADD, ADDR, JSON, bytes(address), strlen(address), &error));
    OK(tapline_netlink_close(netlink, &error));
}

/* Takes the next events of a watch, which contain `expected` and not `other`. */
static void next_has(tapline_watch *watch, const char *expected, const char *other) {
    tapline_list *list = NULL;
    const uint8_t *start = NULL;
    size_t length = 0;
    OK(tapline_watch_next(watch, 0, &list, &error));
    OK(tapline_list_bytes(list, &start, &length, &error));
    CHECK(memmem(start, length, expected, strlen(expected)) != NULL);
    CHECK(memmem(start, length, other, strlen(other)) == NULL);
    OK(tapline_list_free(list, &error));
    OK(tapline_watch_close(watch, &error));
}

/* A handle stays in its namespace: there names are looked up and watches opened, although the thread has moved. */
static void namespaces(void) {
    enum { ADDR = TAPLINE_NETLINK_OBJECT_ADDR };
    static const char *const named = "{\"dev\":\"home0\"}";
    static const char *const address = "{\"dev\":\"home0\",\"local\":\"192.0.2.77\",\"prefixlen\":24}";
    tapline_netlink *home = NULL, *away = NULL;
    OK(tapline_netlink_open(NULL, &home, &error));
    add_link(home, "{\"name\":\"home0\",\"linkinfo\":{\"info_kind\":\"bridge\"}}");
    CHECK(unshare(CLONE_NEWNET) == 0);
    OK(tapline_netlink_open(NULL, &away, &error));
    /* With the index that the other has there. */
    add_link(away, "{\"name\":\"away0\",\"linkinfo\":{\"info_kind\":\"bridge\"}}");
    add_link(away, "{\"name\":\"home0\",\"linkinfo\":{\"info_kind\":\"bridge\"}}");
    OK(tapline_netlink_change(home, ADD, ADDR, JSON, bytes(address), strlen(address), &error));
    tapline_watch *watch = NULL;
    OK(tapline_watch_open(home, ADDR, JSON, bytes(named), strlen(named), &watch, &error));
    next_has(watch, "192.0.2.77", "192.0.2.78");
    OK(tapline_watch_open(home, ADDR, FIELDS, NULL, 0, &watch, &error));
    next_has(watch, "home0", "away0");
    /* Only the one namespace has a route to the address. */
    static const char *const query = "{\"to\":\"192.0.2.77\"}";
    tapline_list *route = NULL;
    const uint8_t *start = NULL;
    size_t length = 0;
    OK(tapline_netlink_lookup(home, JSON, bytes(query), strlen(query), &route, &error));
    OK(tapline_list_bytes(route, &start, &length, &error));
    CHECK(memmem(start, length, "192.0.2.77", 10) != NULL);
    OK(tapline_list_free(route, &error));
    CHECK(tapline_netlink_lookup(away, JSON, bytes(query), strlen(query), &route, NULL) < 0);
    OK(tapline_netlink_close(away, &error));
    OK(tapline_netlink_close(home, &error));
}

/* struct nlmsghdr and struct ifinfomsg */
struct message {
    uint32_t length;
    uint16_t type, flags;
    uint32_t sequence, port;
    uint8_t header[16];
};

/* Messages that are no change of a link, and replies to them. */
static void messages(void) {
    enum { NEWLINK = 16, DELLINK = 17, CREATE = 0x605, REPLACE = 0x505, ECHO = 0x8, CAPPED = 0x100 };
    tapline_fake_kernel *fake = NULL;
    tapline_netlink *netlink = open_fake(&fake);
    int32_t fd = 0;
    OK(tapline_netlink_fd(netlink, &fd, &error));
    CHECK(fd == -1);
    FAILS(TAPLINE_STATUS_INVALID_ARGUMENT, "out_fd is null", tapline_netlink_fd(netlink, NULL, &error));
    FAILS(TAPLINE_STATUS_INVALID_HANDLE, "null", tapline_netlink_fd(NULL, &fd, &error));

    struct message message = {.length = sizeof message, .type = NEWLINK, .flags = CREATE};
    const uint8_t *start = (const uint8_t *)&message;
    OK(tapline_netlink_change(netlink, ADD, LINK, MESSAGE, start, sizeof message, &error));
    FAILS(TAPLINE_STATUS_INVALID_ARGUMENT, "truncated",
          tapline_netlink_change(netlink, ADD, LINK, MESSAGE, start, sizeof message - 1, &error));
    FAILS(TAPLINE_STATUS_INVALID_ARGUMENT, "truncated",
          tapline_netlink_change(netlink, ADD, LINK, MESSAGE, NULL, 0, &error));
    FAILS(TAPLINE_STATUS_INVALID_ARGUMENT, "does not fit",
          tapline_netlink_change(netlink, TAPLINE_NETLINK_VERB_DEL, LINK, MESSAGE, start, sizeof message, &error));
    FAILS(TAPLINE_STATUS_INVALID_ARGUMENT, "does not fit",
          tapline_netlink_change(netlink, ADD, TAPLINE_NETLINK_OBJECT_VLAN, MESSAGE, start, sizeof message, &error));
    /* The flags of another verb: to add is not to replace. */
    message.flags = REPLACE;
    FAILS(TAPLINE_STATUS_INVALID_ARGUMENT, "the flags 0x505",
          tapline_netlink_change(netlink, ADD, LINK, MESSAGE, start, sizeof message, &error));
    message.flags = CREATE | ECHO;
    FAILS(TAPLINE_STATUS_INVALID_ARGUMENT, "the flags 0x60d",
          tapline_netlink_change(netlink, ADD, LINK, MESSAGE, start, sizeof message, &error));
    message.flags = CREATE;
    message.length = 36;
    FAILS(TAPLINE_STATUS_INVALID_ARGUMENT, "32 bytes and states 36",
          tapline_netlink_change(netlink, ADD, LINK, MESSAGE, start, sizeof message, &error));
    tapline_list *list = NULL;
    FAILS(TAPLINE_STATUS_INVALID_ARGUMENT, "only a change",
          tapline_netlink_list(netlink, LINK, MESSAGE, start, sizeof message, &list, &error));

    message.length = sizeof message;
    struct {
        struct message start;
        uint8_t rest[4];
    } reply = {.start = {.length = 36, .type = 2, .flags = CAPPED}};
    const int32_t refused = -EEXIST;
    memcpy(reply.start.header, &refused, sizeof refused);
    memcpy(reply.start.header + 4, &message, 12);
    FAILS(TAPLINE_STATUS_EXISTS, "cannot add",
          tapline_netlink_reply_error(ADD, LINK, start, sizeof message, (const uint8_t *)&reply, 36, 0, &error));
    FAILS(TAPLINE_STATUS_PRIVILEGE, "cannot add",
          tapline_netlink_reply_error(ADD, LINK, start, sizeof message, NULL, 0, EPERM, &error));
    /* The advice is the hint, and not in the message as well. */
    {
        tapline_error *refusal = NULL;
        CHECK(tapline_netlink_reply_error(ADD, LINK, start, sizeof message, NULL, 0, EPERM, &refusal) ==
              TAPLINE_STATUS_PRIVILEGE);
        CHECK(strcmp(tapline_error_hint(refusal), "requires CAP_NET_ADMIN") == 0);
        CHECK(strstr(tapline_error_message(refusal), "CAP_NET_ADMIN") == NULL);
        tapline_error_free(refusal);
    }
    /* Numbers that are no error numbers. */
    const int32_t numbers[] = {1, INT32_MAX, INT32_MIN, -4096, -65536};
    for (size_t at = 0; at < sizeof numbers / sizeof *numbers; ++at) {
        memcpy(reply.start.header, &numbers[at], sizeof numbers[at]);
        FAILS(TAPLINE_STATUS_SYSTEM, "cannot add",
              tapline_netlink_reply_error(ADD, LINK, start, sizeof message, (const uint8_t *)&reply, 36, 0, &error));
    }
    memcpy(reply.start.header, &refused, sizeof refused);
    for (size_t length = 1; length < 36; ++length) {
        const tapline_status status =
            tapline_netlink_reply_error(ADD, LINK, start, sizeof message, (const uint8_t *)&reply, length, 0, NULL);
        CHECK(status < 0 && status != TAPLINE_STATUS_EXISTS && status != TAPLINE_STATUS_INTERNAL);
    }
    FAILS(TAPLINE_STATUS_INVALID_ARGUMENT, "truncated",
          tapline_netlink_reply_error(ADD, LINK, start, 3, (const uint8_t *)&reply, 36, 0, &error));
    FAILS(TAPLINE_STATUS_INVALID_ARGUMENT, "reply is null",
          tapline_netlink_reply_error(ADD, LINK, start, sizeof message, NULL, 36, 0, &error));
    OK(tapline_netlink_close(netlink, &error));
    OK(tapline_fake_kernel_free(fake, &error));
}

static void handles(void) {
    tapline_fake_kernel *fake = NULL;
    tapline_netlink *netlink = open_fake(&fake);
    tapline_list *list = NULL;
    tapline_batch *batch = NULL;
    tapline_watch *watch = NULL;
    const uint8_t *data;
    size_t length;
    add_link(netlink, "{\"name\":\"d0\",\"linkinfo\":{\"info_kind\":\"dummy\"}}");
    OK(tapline_netlink_list(netlink, LINK, JSON, NULL, 0, &list, &error));
    OK(tapline_netlink_run(netlink, NULL, 0, 0, &batch, &error));
    OK(tapline_watch_open(netlink, LINK, JSON, NULL, 0, &watch, &error));
    FAILS(TAPLINE_STATUS_INVALID_HANDLE, "this is a list handle, and not a netlink handle",
          tapline_netlink_close((tapline_netlink *)list, &error));
    FAILS(TAPLINE_STATUS_INVALID_HANDLE, "", tapline_list_bytes((tapline_list *)netlink, &data, &length, &error));
    FAILS(TAPLINE_STATUS_INVALID_ARGUMENT, "out_bytes is null", tapline_list_bytes(list, NULL, &length, &error));
    FAILS(TAPLINE_STATUS_INVALID_ARGUMENT, "out_list is null", tapline_watch_next(watch, 0, NULL, &error));
    FAILS(TAPLINE_STATUS_INVALID_ARGUMENT, "out_state is null", tapline_batch_result(batch, 0, NULL, NULL, &error));
    tapline_item_state state;
    CHECK(tapline_batch_result(batch, 0, &state, NULL, NULL) == TAPLINE_STATUS_END);

    /* What the handle made lives on without it, and without the fake kernel. */
    OK(tapline_netlink_close(netlink, &error));
    OK(tapline_fake_kernel_free(fake, &error));
    OK(tapline_list_bytes(list, &data, &length, &error));
    CHECK(length > 0 && data[length - 1] == '\n');
    CHECK(tapline_batch_is_done(batch) && tapline_batch_count(batch) == 0);
    OK(tapline_list_free(list, &error));
    OK(tapline_watch_next(watch, 0, &list, &error));
    OK(tapline_list_free(list, &error));
    OK(tapline_batch_free(batch, &error));
    OK(tapline_watch_close(watch, &error));

    /* After their end, and without one. */
    FAILS(TAPLINE_STATUS_INVALID_HANDLE, "has been closed", tapline_netlink_close(netlink, &error));
    FAILS(TAPLINE_STATUS_INVALID_HANDLE, "has been closed",
          tapline_netlink_list(netlink, LINK, JSON, NULL, 0, &list, &error));
    FAILS(TAPLINE_STATUS_INVALID_HANDLE, "has been closed", tapline_list_bytes(list, &data, &length, &error));
    FAILS(TAPLINE_STATUS_INVALID_HANDLE, "has been closed", tapline_list_free(list, &error));
    FAILS(TAPLINE_STATUS_INVALID_HANDLE, "has been closed", tapline_watch_next(watch, 0, &list, &error));
    FAILS(TAPLINE_STATUS_INVALID_HANDLE, "has been closed", tapline_batch_free(batch, &error));
    CHECK(!tapline_batch_is_done(batch) && !tapline_list_is_interrupted(list) && tapline_batch_count(NULL) == 0);
    const tapline_netlink_options options = {.size = sizeof options, .fake = fake};
    FAILS(TAPLINE_STATUS_INVALID_HANDLE, "", tapline_netlink_open(&options, &netlink, &error));
    FAILS(TAPLINE_STATUS_INVALID_HANDLE, "null", tapline_netlink_change(NULL, ADD, LINK, JSON, bytes("{}"), 2, &error));
    OK(tapline_netlink_close(NULL, &error));
    OK(tapline_watch_close(NULL, &error));
    OK(tapline_list_free(NULL, &error));
    OK(tapline_batch_free(NULL, &error));
    OK(tapline_fake_kernel_free(NULL, &error));
}

static atomic_bool is_last;

static void *wait_for_events(void *watch) {
    for (;;) {
        tapline_list *list = NULL;
        const tapline_status status = tapline_watch_next(watch, -1, &list, NULL);
        /* The main thread tries to be in a call, too. */
        CHECK(status == TAPLINE_STATUS_OK || status == TAPLINE_STATUS_IN_USE);
        CHECK(tapline_list_free(list, NULL) == TAPLINE_STATUS_OK);
        if (status == TAPLINE_STATUS_OK && atomic_load(&is_last)) {
            return NULL;
        }
    }
}

/* A second thread in a call with the same handle is an error. */
static void threads(void) {
    tapline_fake_kernel *fake = NULL;
    tapline_netlink *netlink = open_fake(&fake);
    tapline_watch *watch = NULL;
    OK(tapline_watch_open(netlink, LINK, JSON, NULL, 0, &watch, &error));
    /* Then nothing ends a wait but a change. */
    tapline_list *known = NULL;
    OK(tapline_watch_next(watch, 0, &known, &error));
    OK(tapline_list_free(known, &error));
    pthread_t waiting;
    CHECK(pthread_create(&waiting, NULL, wait_for_events, watch) == 0);
    /* Until the other thread is in its call. */
    tapline_status status = TAPLINE_STATUS_OK;
    while (status == TAPLINE_STATUS_OK) {
        tapline_list *list = NULL;
        status = tapline_watch_next(watch, 0, &list, NULL);
        CHECK(tapline_list_free(list, NULL) == TAPLINE_STATUS_OK);
    }
    CHECK(status == TAPLINE_STATUS_IN_USE);
    FAILS(TAPLINE_STATUS_IN_USE, "another thread is in a call with this watch handle",
          tapline_watch_close(watch, &error));
    atomic_store(&is_last, true);
    add_link(netlink, "{\"name\":\"d1\",\"linkinfo\":{\"info_kind\":\"dummy\"}}");
    CHECK(pthread_join(waiting, NULL) == 0);
    OK(tapline_watch_close(watch, &error));
    OK(tapline_netlink_close(netlink, &error));
    OK(tapline_fake_kernel_free(fake, &error));
}

static void *wait_for_the_end(void *watch) {
    tapline_status status = TAPLINE_STATUS_OK;
    while (status == TAPLINE_STATUS_OK || status == TAPLINE_STATUS_IN_USE) {
        tapline_list *list = NULL;
        status = tapline_watch_next(watch, -1, &list, NULL);
        CHECK(tapline_list_free(list, NULL) == TAPLINE_STATUS_OK);
    }
    CHECK(status == TAPLINE_STATUS_END);
    return NULL;
}

/* Another thread ends a watch, also while a call waits. */
static void stops(void) {
    tapline_fake_kernel *fake = NULL;
    tapline_netlink *netlink = open_fake(&fake);
    tapline_watch *watch = NULL;
    tapline_list *list = NULL;
    int fd = -1;
    add_link(netlink, "{\"name\":\"d1\",\"linkinfo\":{\"info_kind\":\"dummy\"}}");
    OK(tapline_watch_open(netlink, LINK, JSON, NULL, 0, &watch, &error));
    OK(tapline_watch_fd(watch, &fd, &error));
    struct pollfd readable = {.fd = fd, .events = POLLIN};
    /* The link that exists is reported without a notification. */
    CHECK(poll(&readable, 1, 0) == 1);
    OK(tapline_watch_next(watch, 0, &list, &error));
    OK(tapline_list_free(list, &error));
    CHECK(poll(&readable, 1, 0) == 0);
    add_link(netlink, "{\"name\":\"d2\",\"linkinfo\":{\"info_kind\":\"dummy\"}}");
    CHECK(poll(&readable, 1, 0) == 1);
    OK(tapline_watch_next(watch, -1, &list, &error));
    OK(tapline_list_free(list, &error));
    CHECK(poll(&readable, 1, 0) == 0);
    pthread_t waiting;
    CHECK(pthread_create(&waiting, NULL, wait_for_the_end, watch) == 0);
    /* Until the other thread is in its call. */
    while (tapline_watch_next(watch, 0, &list, NULL) != TAPLINE_STATUS_IN_USE) {
        OK(tapline_list_free(list, &error));
    }
    OK(tapline_watch_stop(watch, &error));
    CHECK(pthread_join(waiting, NULL) == 0);
    /* For good, whatever happens. */
    OK(tapline_watch_stop(watch, &error));
    add_link(netlink, "{\"name\":\"d3\",\"linkinfo\":{\"info_kind\":\"dummy\"}}");
    CHECK(tapline_watch_next(watch, -1, &list, NULL) == TAPLINE_STATUS_END);
    CHECK(tapline_watch_next(watch, 0, &list, NULL) == TAPLINE_STATUS_END);
    CHECK(poll(&readable, 1, 0) == 1);
    OK(tapline_watch_close(watch, &error));
    FAILS(TAPLINE_STATUS_INVALID_HANDLE, "has been closed", tapline_watch_stop(watch, &error));
    FAILS(TAPLINE_STATUS_INVALID_HANDLE, "null", tapline_watch_stop(NULL, &error));
    OK(tapline_netlink_close(netlink, &error));
    OK(tapline_fake_kernel_free(fake, &error));
}

int main(void) {
    arguments();
    messages();
    read_only_fields();
    link_without_type();
    long_fields();
    no_descriptors();
    handles();
    threads();
    stops();
    namespaces();
    printf("done\n");
    return 0;
}
