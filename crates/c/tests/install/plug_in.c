/* plug_in LIBRARY: loads the library, opens and closes a handle, closes the library, and prints whether the loader still has it. */
#include <dlfcn.h>
#include <stdio.h>

typedef int (*two)(void **, void **);

int main(int argc, char **argv) {
    void *library = argc == 2 ? dlopen(argv[1], RTLD_NOW) : NULL;
    if (library == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    two create, release;
    *(void **)&create = dlsym(library, "tapline_fake_kernel_new");
    *(void **)&release = dlsym(library, "tapline_fake_kernel_free");
    void *kernel = NULL;
    if (create(&kernel, NULL) != 0 || release(kernel, NULL) != 0 || dlclose(library) != 0) {
        return 1;
    }
    printf("loaded, closed, %s\n", dlopen(argv[1], RTLD_NOW | RTLD_NOLOAD) == NULL ? "unloaded" : "still loaded");
    return 0;
}
