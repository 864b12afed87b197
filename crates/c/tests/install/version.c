#include <stdio.h>

#include <tapline.h>

int main(void) {
    tapline_filter *filter = NULL;
    tapline_status status = tapline_filter_compile("udp port 53", NULL, &filter, NULL);
    printf("%s %d\n", tapline_version(), (int)status);
    return (int)tapline_filter_free(filter, NULL);
}
