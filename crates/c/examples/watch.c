/* watch COUNT: prints COUNT events of links as JSON: first the links that exist, and then every change. */
#include <stdio.h>
#include <stdlib.h>
#include <tapline.h>

static int fail(tapline_error *error)
{
    fprintf(stderr, "%s\n", tapline_error_message(error));
    tapline_error_free(error);
    return 1;
}

int main(int argc, char **argv)
{
    tapline_netlink *netlink;
    tapline_watch *watch;
    tapline_error *error;
    tapline_status status = TAPLINE_STATUS_OK;
    long left = argc == 2 ? atol(argv[1]) : 0;

    if (left <= 0) {
        fprintf(stderr, "usage: watch COUNT\n");
        return 2;
    }
    if (tapline_netlink_open(NULL, &netlink, &error) < 0) {
        return fail(error);
    }
    if (tapline_watch_open(netlink, TAPLINE_NETLINK_OBJECT_LINK, TAPLINE_NETLINK_FORM_JSON, NULL, 0, &watch, &error) < 0) {
        tapline_netlink_close(netlink, NULL);
        return fail(error);
    }
    while (left > 0) {
        tapline_list *events;
        const uint8_t *bytes;
        size_t length;

        status = tapline_watch_next(watch, -1, &events, &error);
        /* END: another thread has stopped the watch. There are no events then. */
        if (status != TAPLINE_STATUS_OK) {
            break;
        }
        status = tapline_list_bytes(events, &bytes, &length, &error);
        if (status == TAPLINE_STATUS_OK) {
            for (size_t at = 0; at < length && left > 0; at++) {
                putchar(bytes[at]);
                left -= bytes[at] == '\n';
            }
            fflush(stdout);
        }
        tapline_list_free(events, NULL);
        if (status != TAPLINE_STATUS_OK) {
            break;
        }
    }
    tapline_watch_close(watch, NULL);
    tapline_netlink_close(netlink, NULL);
    return status < 0 ? fail(error) : 0;
}
