/* jobs_misuse INTERFACE: what C code may do wrong with counts and reports of the doctor is an error, and never a crash. */
#include <pthread.h>

#include "check.h"

static const tapline_class_count *figures;
static size_t figure_count;

static void arguments(const char *name) {
    const char *interfaces[] = {name};
    tapline_count_options options = {.size = sizeof options, .interfaces = interfaces, .interface_count = 1};
    tapline_count *counter = NULL;
    FAILS(TAPLINE_STATUS_INVALID_ARGUMENT, "out_count is null", tapline_count_open(&options, NULL, &error));
    FAILS(TAPLINE_STATUS_INVALID_ARGUMENT, "no interface", tapline_count_open(NULL, &counter, &error));
    options.size = 3;
    FAILS(TAPLINE_STATUS_INVALID_ARGUMENT, "the size of tapline_count_options is 3",
          tapline_count_open(&options, &counter, &error));
    options.size = sizeof options;
    options.layer = 99;
    FAILS(TAPLINE_STATUS_INVALID_ARGUMENT, "layer is 99, which is not one of its values", tapline_count_open(&options, &counter, &error));
    options.layer = 0;
    options.class_count = 1;
    FAILS(TAPLINE_STATUS_INVALID_ARGUMENT, "classes is null", tapline_count_open(&options, &counter, &error));
    const tapline_count_class unnamed = {.name = NULL, .filter = "udp"};
    options.classes = &unnamed;
    FAILS(TAPLINE_STATUS_INVALID_ARGUMENT, "null", tapline_count_open(&options, &counter, &error));
    const tapline_count_class wrong = {.name = "wrong", .filter = "udp prot 53"};
    options.classes = &wrong;
    FAILS(TAPLINE_STATUS_SYNTAX, "prot", tapline_count_open(&options, &counter, &error));
    options.class_count = 0;
    interfaces[0] = "nowhere0";
    FAILS(TAPLINE_STATUS_NOT_FOUND, "nowhere0", tapline_count_open(&options, &counter, &error));
    CHECK(counter == NULL);
}

static void use_closed(tapline_count *counter, const char *text) {
    const tapline_group_count *groups;
    size_t number;
    int fd;
    FAILS(TAPLINE_STATUS_INVALID_HANDLE, text, tapline_count_next(counter, -1, &figures, &figure_count, NULL, &error));
    FAILS(TAPLINE_STATUS_INVALID_HANDLE, text, tapline_count_totals(counter, &figures, &figure_count, &error));
    FAILS(TAPLINE_STATUS_INVALID_HANDLE, text, tapline_count_groups(counter, 0, &groups, &number, NULL, &error));
    FAILS(TAPLINE_STATUS_INVALID_HANDLE, text, tapline_count_stop(counter, &error));
    FAILS(TAPLINE_STATUS_INVALID_HANDLE, text, tapline_count_fd(counter, &fd, &error));
}

static void handles(const char *name) {
    const char *interfaces[] = {name};
    tapline_count_options options = {.size = sizeof options, .interfaces = interfaces, .interface_count = 1};
    tapline_count *counter = NULL;
    tapline_doctor *doctor = NULL;
    tapline_finding found;
    use_closed(NULL, "the count handle is null");
    OK(tapline_count_open(&options, &counter, &error));
    FAILS(TAPLINE_STATUS_INVALID_ARGUMENT, "out_figures is null",
          tapline_count_next(counter, -1, NULL, &figure_count, NULL, &error));
    FAILS(TAPLINE_STATUS_INVALID_ARGUMENT, "out_figure_count is null",
          tapline_count_totals(counter, &figures, NULL, &error));
    FAILS(TAPLINE_STATUS_INVALID_ARGUMENT, "out_fd is null", tapline_count_fd(counter, NULL, &error));

    /* A report of the doctor is another kind of handle. */
    FAILS(TAPLINE_STATUS_INVALID_HANDLE, "this is a count handle, and not a doctor handle",
          tapline_doctor_finding((tapline_doctor *)counter, 0, &found, &error));
    OK(tapline_doctor_examine(NULL, &doctor, &error));
    use_closed((tapline_count *)doctor, "this is a doctor handle, and not a count handle");
    FAILS(TAPLINE_STATUS_INVALID_HANDLE, "not a count handle", tapline_count_close((tapline_count *)doctor, &error));
    CHECK(tapline_doctor_finding(doctor, (size_t)-1, &found, NULL) == TAPLINE_STATUS_END);
    FAILS(TAPLINE_STATUS_INVALID_ARGUMENT, "out_finding is null", tapline_doctor_finding(doctor, 0, NULL, &error));
    OK(tapline_doctor_free(doctor, &error));
    FAILS(TAPLINE_STATUS_INVALID_HANDLE, "has been closed", tapline_doctor_free(doctor, &error));
    OK(tapline_doctor_free(NULL, &error));
    FAILS(TAPLINE_STATUS_INVALID_HANDLE, "has been closed", tapline_doctor_finding(doctor, 0, &found, &error));
    FAILS(TAPLINE_STATUS_INVALID_HANDLE, "the doctor handle is null", tapline_doctor_finding(NULL, 0, &found, &error));
    FAILS(TAPLINE_STATUS_INVALID_ARGUMENT, "not UTF-8", tapline_doctor_examine("\xff", &doctor, &error));
    FAILS(TAPLINE_STATUS_NOT_FOUND, "nowhere0", tapline_doctor_examine("nowhere0", &doctor, &error));
    FAILS(TAPLINE_STATUS_INVALID_ARGUMENT, "out_doctor is null", tapline_doctor_examine(NULL, NULL, &error));

    OK(tapline_count_close(counter, &error));
    use_closed(counter, "has been closed");
    FAILS(TAPLINE_STATUS_INVALID_HANDLE, "has been closed", tapline_count_close(counter, &error));
    OK(tapline_count_close(NULL, &error));
}

static void *wait_for_intervals(void *counter) {
    tapline_status status = TAPLINE_STATUS_OK;
    /* The main thread tries to be in a call, too. */
    while (status == TAPLINE_STATUS_OK || status == TAPLINE_STATUS_IN_USE) {
        status = tapline_count_next(counter, -1, &figures, &figure_count, NULL, NULL);
    }
    CHECK(status == TAPLINE_STATUS_END);
    return NULL;
}

static void threads(const char *name) {
    const char *interfaces[] = {name};
    /* No interval ends before the stop. */
    tapline_count_options options = {.size = sizeof options, .interfaces = interfaces, .interface_count = 1,
                                     .interval_ns = 3600000000000};
    tapline_count *counter = NULL;
    OK(tapline_count_open(&options, &counter, &error));
    pthread_t waiting;
    CHECK(pthread_create(&waiting, NULL, wait_for_intervals, counter) == 0);
    const tapline_class_count *totals;
    size_t number;
    /* Until the other thread is in its call. */
    while (tapline_count_totals(counter, &totals, &number, NULL) != TAPLINE_STATUS_IN_USE) {
    }
    FAILS(TAPLINE_STATUS_IN_USE, "another thread", tapline_count_close(counter, &error));
    OK(tapline_count_stop(counter, &error));
    CHECK(pthread_join(waiting, NULL) == 0);
    OK(tapline_count_close(counter, &error));
}

int main(int count, char **words) {
    CHECK(count == 2);
    arguments(words[1]);
    handles(words[1]);
    threads(words[1]);
    printf("done\n");
    return 0;
}
