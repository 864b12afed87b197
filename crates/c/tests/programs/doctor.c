/* doctor INTERFACE: the severe findings about it. */
#include "check.h"

int main(int count, char **words) {
    CHECK(count == 2);
    tapline_doctor *doctor = NULL;
    FAILS(TAPLINE_STATUS_NOT_FOUND, "nowhere0", tapline_doctor_examine("nowhere0", &doctor, &error));
    FAILS(TAPLINE_STATUS_INVALID_ARGUMENT, "out_doctor is null", tapline_doctor_examine(words[1], NULL, &error));
    OK(tapline_doctor_examine(words[1], &doctor, &error));
    FAILS(TAPLINE_STATUS_INVALID_ARGUMENT, "out_finding is null", tapline_doctor_finding(doctor, 0, NULL, &error));
    tapline_finding found;
    for (size_t at = 0; tapline_doctor_finding(doctor, at, &found, NULL) == TAPLINE_STATUS_OK; at++) {
        if (found.severity == TAPLINE_SEVERITY_SEVERE && strstr(found.observed, words[1]) != NULL) {
            printf("%s: %s: %s: %s\n", found.id, found.observed, found.effect, found.remedy);
        }
    }
    OK(tapline_doctor_free(doctor, &error));
    FAILS(TAPLINE_STATUS_INVALID_HANDLE, "has been closed", tapline_doctor_free(doctor, &error));
    OK(tapline_doctor_free(NULL, &error));
    return 0;
}
