/* options JOB …: options of the jobs that no other program uses. */
#define _GNU_SOURCE
#include <dirent.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "check.h"

/* An event loop with a capture that ends by its time limit, although nothing arrives. */
static void idle(char **words) {
    const char *interfaces[] = {words[0]};
    tapline_capture_options options = {
        .size = sizeof options, .interfaces = interfaces, .interface_count = 1, .max_ns = 200000000};
    tapline_capture *capture = NULL;
    OK(tapline_capture_open(&options, &capture, &error));
    int fd = -1;
    OK(tapline_capture_fd(capture, &fd, &error));
    const int loop = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event event = {.events = EPOLLIN};
    CHECK(loop >= 0 && epoll_ctl(loop, EPOLL_CTL_ADD, fd, &event) == 0);
    tapline_status status = TAPLINE_STATUS_OK;
    while (status != TAPLINE_STATUS_END) {
        CHECK(epoll_wait(loop, &event, 1, 20000) == 1);
        const tapline_packet *packets = NULL;
        size_t count = 0;
        OK(status = tapline_capture_next_batch(capture, 0, &packets, &count, &error));
    }
    close(loop);
    tapline_capture_stats stats = {.size = sizeof stats};
    OK(tapline_capture_finish(capture, &stats, &error));
    CHECK(stats.delivered == 0 && stats.duration_ns >= options.max_ns);
}

/* Options that have no effect together with others are refused with a hint. */
static void refused(char **words) {
    const char *interfaces[] = {words[0]};
    const struct {
        tapline_capture_options options;
        const char *field, *hint;
    } captures[] = {
        {{.drop_others = 1}, "drop_others", "mode to DROP"},
        {{.xdp_mode = TAPLINE_XDP_MODE_GENERIC}, "xdp_mode", "XDP_RINGBUF"},
        {{.delivery = TAPLINE_DELIVERY_IMMEDIATE, .delivery_ns = 1}, "delivery_ns", "BATCH or ADAPTIVE"},
        {{.delivery = TAPLINE_DELIVERY_IMMEDIATE, .delivery_bytes = 1}, "delivery_bytes", "BATCH"},
        {{.delivery = TAPLINE_DELIVERY_ADAPTIVE, .delivery_bytes = 1}, "delivery_bytes", "BATCH"},
        {{.spin_ns = 1}, "spin_ns", "IMMEDIATE or ADAPTIVE"},
    };
    for (size_t at = 0; at < sizeof captures / sizeof *captures; at++) {
        tapline_capture_options options = captures[at].options;
        options.size = sizeof options;
        options.interfaces = interfaces;
        options.interface_count = 1;
        tapline_capture *capture = NULL;
        tapline_error *error = NULL;
        CHECK(tapline_capture_open(&options, &capture, &error) == TAPLINE_STATUS_INVALID_ARGUMENT);
        CHECK(strstr(tapline_error_message(error), captures[at].field) != NULL);
        CHECK(strstr(tapline_error_hint(error), captures[at].hint) != NULL);
        tapline_error_free(error);
    }
    const struct {
        uint32_t rate_unit;
        const char *hint;
    } senders[] = {
        {TAPLINE_RATE_MAX, "PACKETS, BITS or WIRE_BITS"},
        {TAPLINE_RATE_RECORDED, "leave rate at 0"},
        {TAPLINE_RATE_ABSOLUTE, "leave rate at 0"},
    };
    for (size_t at = 0; at < sizeof senders / sizeof *senders; at++) {
        tapline_sender_options options = {
            .size = sizeof options, .interface = words[0], .rate = 10, .rate_unit = senders[at].rate_unit};
        tapline_sender *sender = NULL;
        tapline_error *error = NULL;
        CHECK(tapline_sender_open(&options, &sender, &error) == TAPLINE_STATUS_INVALID_ARGUMENT);
        CHECK(strstr(tapline_error_message(error), "rate is 10") != NULL);
        CHECK(strstr(tapline_error_hint(error), senders[at].hint) != NULL);
        tapline_error_free(error);
    }
    tapline_count_options options = {
        .size = sizeof options, .interfaces = interfaces, .interface_count = 1, .max_groups = 9};
    tapline_count *counter = NULL;
    FAILS(TAPLINE_STATUS_INVALID_ARGUMENT, "max_groups", tapline_count_open(&options, &counter, &error));
    options.max_groups = 0;
    options.netns = "nowhere";
    FAILS(TAPLINE_STATUS_NOT_FOUND, "nowhere", tapline_count_open(&options, &counter, &error));

    const char *targets[] = {"127.0.0.1"};
    const struct {
        tapline_ping_options options;
        const char *text;
    } pings[] = {
        {{.ttl = 256}, "ttl is 256, not between 1 and 255"},
        {{.tos = 256}, "tos is 256, not between 0 and 255"},
        {{.family = 1}, "family is 1, which is not one of its values"},
        {{.family = TAPLINE_FAMILY_IPV6}, "127.0.0.1 has the wrong address family"},
        {{.source = "here"}, "source is \"here\", which is not an IP address"},
        {{.netns = ""}, "\"\" is not the name of a network namespace"},
    };
    for (size_t at = 0; at < sizeof pings / sizeof *pings; at++) {
        tapline_ping_options wrong = pings[at].options;
        wrong.size = sizeof wrong;
        wrong.targets = targets;
        wrong.target_count = 1;
        tapline_ping *ping = NULL;
        FAILS(TAPLINE_STATUS_INVALID_ARGUMENT, pings[at].text, tapline_ping_open(&wrong, &ping, &error));
    }
}

/* What SIGINT stops. */
static tapline_ping *pinging;
static tapline_count *counting;
static tapline_watch *watching;
static tapline_sender *sending;

/* The thread that gets SIGINT: one for each job. */
static void *stop_at_signal(void *number) {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    int caught = 0;
    CHECK(sigwait(&signals, &caught) == 0 && caught == SIGINT);
    switch (*(int *)number) {
    case 0: OK(tapline_ping_stop(pinging, &error)); break;
    case 1: OK(tapline_count_stop(counting, &error)); break;
    case 2: OK(tapline_watch_stop(watching, &error)); break;
    default: OK(tapline_sender_stop(sending, &error)); break;
    }
    return NULL;
}

/* Runs a job up to END; the signal comes when it is about to wait. */
static void run_to_signal(int number) {
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, stop_at_signal, &number) == 0);
    CHECK(kill(getpid(), SIGINT) == 0);
    tapline_status status = TAPLINE_STATUS_OK;
    while (status != TAPLINE_STATUS_END) {
        const tapline_ping_event *events;
        const tapline_class_count *counts;
        size_t count;
        tapline_list *list = NULL;
        tapline_queue *queue = NULL;
        const uint8_t frame[60] = {0};
        switch (number) {
        case 0: OK(status = tapline_ping_next_batch(pinging, -1, &events, &count, &error)); break;
        case 1: OK(status = tapline_count_next(counting, -1, &counts, &count, NULL, &error)); break;
        case 2:
            OK(status = tapline_watch_next(watching, -1, &list, &error));
            if (status == TAPLINE_STATUS_OK) {
                OK(tapline_list_free(list, &error));
            }
            break;
        default:
            OK(tapline_queue_create(0, 0, &queue, &error));
            for (int packets = 0; packets < 100; packets++) {
                OK(tapline_queue_push(queue, 0, frame, sizeof frame, &error));
            }
            OK(status = tapline_sender_transmit(sending, queue, &error));
            OK(tapline_queue_free(queue, &error));
        }
    }
    CHECK(pthread_join(thread, NULL) == 0);
}

/* Ctrl-C ends calls that would wait for hours. */
static void interrupted(char **words) {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    CHECK(pthread_sigmask(SIG_BLOCK, &signals, NULL) == 0);
    const char *names[] = {words[0]}, *targets[] = {"127.0.0.1"};
    const uint64_t hour_ns = 3600000000000;
    const tapline_ping_options pings = {
        .size = sizeof pings, .targets = targets, .target_count = 1, .interval_ns = hour_ns};
    OK(tapline_ping_open(&pings, &pinging, &error));
    run_to_signal(0);
    OK(tapline_ping_finish(pinging, NULL, &error));
    const tapline_count_options counts = {
        .size = sizeof counts, .interfaces = names, .interface_count = 1, .interval_ns = hour_ns};
    OK(tapline_count_open(&counts, &counting, &error));
    run_to_signal(1);
    OK(tapline_count_close(counting, &error));
    tapline_netlink *netlink = NULL;
    OK(tapline_netlink_open(NULL, &netlink, &error));
    OK(tapline_watch_open(netlink, TAPLINE_NETLINK_OBJECT_LINK, TAPLINE_NETLINK_FORM_JSON, NULL, 0, &watching, &error));
    run_to_signal(2);
    OK(tapline_watch_close(watching, &error));
    OK(tapline_netlink_close(netlink, &error));
    const tapline_sender_options senders = {
        .size = sizeof senders, .interface = words[0], .rate = 1, .rate_unit = TAPLINE_RATE_PACKETS};
    OK(tapline_sender_open(&senders, &sending, &error));
    run_to_signal(3);
    tapline_sender_stats stats = {.size = sizeof stats};
    OK(tapline_sender_finish(sending, &stats, &error));
    CHECK(stats.accepted < 100);
    /* Nothing is closed, and closed again. */
    OK(tapline_sender_finish(NULL, &stats, &error));
    OK(tapline_ping_finish(NULL, NULL, &error));
    OK(tapline_capture_finish(NULL, NULL, &error));
    FAILS(TAPLINE_STATUS_INVALID_HANDLE, "closed", tapline_sender_finish(sending, &stats, &error));
}

/* An event loop with a ping, which ends with the reply and not a minute later, when a reply would be late. */
static void polled_ping(void) {
    const char *targets[] = {"127.0.0.1"};
    const tapline_ping_options options = {
        .size = sizeof options, .targets = targets, .target_count = 1, .count = 1, .timeout_ns = 60000000000};
    tapline_ping *ping = NULL;
    OK(tapline_ping_open(&options, &ping, &error));
    struct pollfd waiting = {.fd = -1, .events = POLLIN};
    OK(tapline_ping_fd(ping, &waiting.fd, &error));
    tapline_status status = TAPLINE_STATUS_OK;
    while (status != TAPLINE_STATUS_END) {
        CHECK(poll(&waiting, 1, 20000) == 1);
        const tapline_ping_event *events;
        size_t count;
        OK(status = tapline_ping_next_batch(ping, 0, &events, &count, &error));
    }
    tapline_ping_stats stats = {.size = sizeof stats};
    OK(tapline_ping_finish(ping, &stats, &error));
    CHECK(stats.sent == 1 && stats.received == 1);
}

/* Adds or deletes a bridge. */
static void change_bridge(uint32_t verb, const char *json) {
    tapline_netlink *netlink = NULL;
    OK(tapline_netlink_open(NULL, &netlink, &error));
    OK(tapline_netlink_change(netlink, verb, TAPLINE_NETLINK_OBJECT_LINK, TAPLINE_NETLINK_FORM_JSON, (const uint8_t *)json,
                              strlen(json), &error));
    OK(tapline_netlink_close(netlink, &error));
}

/* Opens a count whose interval ends in an hour. */
static tapline_count *open_long_count(const char *name) {
    const char *interfaces[] = {name};
    const tapline_count_options options = {.size = sizeof options, .interfaces = interfaces, .interface_count = 1,
                                           .interval_ns = 3600000000000};
    tapline_count *counter = NULL;
    OK(tapline_count_open(&options, &counter, &error));
    return counter;
}

/* An event loop with a count. Its descriptor is also readable when a link changes, which ends no interval. */
static void polled_count(char **words) {
    tapline_count *counter = open_long_count(words[0]);
    change_bridge(TAPLINE_NETLINK_VERB_ADD, "{\"name\":\"br7\",\"linkinfo\":{\"info_kind\":\"bridge\"}}");
    int fd = -1;
    OK(tapline_count_fd(counter, &fd, &error));
    struct pollfd waiting = {.fd = fd, .events = POLLIN};
    CHECK(poll(&waiting, 1, 20000) == 1);
    const tapline_class_count *figures;
    size_t count = 1;
    uint64_t span_ns = 1;
    CHECK(tapline_count_next(counter, 0, &figures, &count, &span_ns, NULL) == TAPLINE_STATUS_OK);
    CHECK(count == 0 && span_ns == 0);
    count = 1;
    CHECK(tapline_count_next(counter, 1000000, &figures, &count, NULL, NULL) == TAPLINE_STATUS_OK && count == 0);
    OK(tapline_count_stop(counter, &error));
    CHECK(poll(&waiting, 1, 20000) == 1);
    CHECK(tapline_count_next(counter, 0, &figures, &count, &span_ns, NULL) == TAPLINE_STATUS_OK);
    CHECK(count == 1 && span_ns > 0);
    CHECK(tapline_count_next(counter, 0, &figures, &count, &span_ns, NULL) == TAPLINE_STATUS_END);
    OK(tapline_count_close(counter, &error));

    /* The end of an interface is that of the count, which is also known after the last interval. */
    counter = open_long_count("br7");
    change_bridge(TAPLINE_NETLINK_VERB_DEL, "{\"name\":\"br7\"}");
    OK(tapline_count_fd(counter, &waiting.fd, &error));
    tapline_status status = TAPLINE_STATUS_OK;
    while (status != TAPLINE_STATUS_END) {
        CHECK(poll(&waiting, 1, 20000) == 1);
        OK(status = tapline_count_next(counter, 0, &figures, &count, NULL, &error));
    }
    OK(tapline_count_close(counter, &error));
}

/* Waits until every other thread sleeps: then it has begun, with its own mask of signals. */
static void wait_for_threads(void) {
    DIR *tasks = opendir("/proc/self/task");
    CHECK(tasks != NULL);
    for (struct dirent *task = readdir(tasks); task != NULL; task = readdir(tasks)) {
        const long number = strtol(task->d_name, NULL, 10);
        char path[64], state = number == 0 || number == getpid() ? 'S' : '?';
        snprintf(path, sizeof path, "/proc/self/task/%ld/stat", number);
        while (state != 'S') {
            FILE *stat = fopen(path, "r");
            CHECK(stat != NULL && fscanf(stat, "%*d (%*[^)]) %c", &state) == 1 && fclose(stat) == 0);
        }
    }
    CHECK(closedir(tasks) == 0);
}

/* No thread of the library takes SIGINT, which this one blocks while a capture runs: it waits for signalfd(2). */
static void signalled(char **words) {
    const char *interfaces[] = {words[0]};
    const tapline_capture_options options = {.size = sizeof options, .interfaces = interfaces, .interface_count = 1};
    tapline_capture *capture = NULL;
    OK(tapline_capture_open(&options, &capture, &error));
    const tapline_packet *packets;
    size_t count;
    OK(tapline_capture_next_batch(capture, 0, &packets, &count, &error));
    wait_for_threads();
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    CHECK(pthread_sigmask(SIG_BLOCK, &signals, NULL) == 0);
    const int fd = signalfd(-1, &signals, SFD_CLOEXEC);
    CHECK(fd >= 0 && kill(getpid(), SIGINT) == 0);
    struct signalfd_siginfo caught;
    CHECK(read(fd, &caught, sizeof caught) == sizeof caught && caught.ssi_signo == SIGINT);
    CHECK(close(fd) == 0);
    OK(tapline_capture_close(capture, &error));
}

/* Adds objects in JSON: for each its tapline_netlink_object and its text. */
static void json(char **words) {
    tapline_netlink *netlink = NULL;
    OK(tapline_netlink_open(NULL, &netlink, &error));
    for (; words[0] != NULL; words += 2) {
        const uint32_t object = (uint32_t)strtoul(words[0], NULL, 10);
        OK(tapline_netlink_change(netlink, TAPLINE_NETLINK_VERB_ADD, object, TAPLINE_NETLINK_FORM_JSON,
                                  (const uint8_t *)words[1], strlen(words[1]), &error));
    }
    OK(tapline_netlink_close(netlink, &error));
}

int main(int count, char **words) {
    CHECK(count >= 2);
    if (strcmp(words[1], "idle") == 0) {
        idle(&words[2]);
    } else if (strcmp(words[1], "refused") == 0) {
        refused(&words[2]);
    } else if (strcmp(words[1], "interrupted") == 0) {
        interrupted(&words[2]);
    } else if (strcmp(words[1], "signalled") == 0) {
        signalled(&words[2]);
    } else if (strcmp(words[1], "polled") == 0) {
        polled_ping();
        polled_count(&words[2]);
    } else if (strcmp(words[1], "json") == 0) {
        json(&words[2]);
    } else {
        return 2;
    }
    printf("done\n");
    return 0;
}
