#include <stdio.h>

#include <tapline.h>

#if TAPLINE_VERSION_NUMBER != TAPLINE_VERSION_MAJOR * 1000000 + TAPLINE_VERSION_MINOR * 1000 + TAPLINE_VERSION_PATCH
#error "the parts are not those of the number"
#endif

int main(void) {
    tapline_filter *filter = NULL;
    tapline_status status = tapline_filter_compile("udp port 53", NULL, &filter, NULL);
    printf("%d.%d.%d ", TAPLINE_VERSION_MAJOR, TAPLINE_VERSION_MINOR, TAPLINE_VERSION_PATCH);
    printf("%s %d\n", tapline_version(), (int)status);
    return tapline_version_number() == TAPLINE_VERSION_NUMBER ? (int)tapline_filter_free(filter, NULL) : 1;
}
