/* Prints what makes captures and pings on an interface unreliable, the worst first, and commands that help: doctor eth0 */
#include <stdio.h>
#include <stdlib.h>

#include <tapline.h>

/* The error is written by the call that made the status, so it is read here, through its address. */
static void check(tapline_status status, tapline_error *const *error) {
    if (status < 0) {
        const char *hint = tapline_error_hint(*error);
        fprintf(stderr, "%s%s%s\n", tapline_error_message(*error), hint ? "; " : "", hint ? hint : "");
        exit(1);
    }
}

int main(int argc, char **argv) {
    if (argc != 2) {
        fprintf(stderr, "usage: doctor INTERFACE\n");
        return 2;
    }
    tapline_error *error = NULL;
    tapline_doctor *doctor;
    check(tapline_doctor_examine(argv[1], &doctor, &error), &error);
    tapline_finding found;
    for (size_t at = 0; tapline_doctor_finding(doctor, at, &found, NULL) == TAPLINE_STATUS_OK; at++) {
        const char *mark = found.severity == TAPLINE_SEVERITY_SEVERE ? "severe: " : "";
        printf("%s%s: %s: %s\n", mark, found.id, found.observed, found.effect);
        /* A command in each line, or none at all. */
        printf("%s%s", found.remedy, found.remedy[0] != '\0' ? "\n" : "");
    }
    tapline_doctor_free(doctor, NULL);
    return 0;
}
