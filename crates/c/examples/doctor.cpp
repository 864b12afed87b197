// Prints what makes captures and pings on an interface unreliable, the worst first, and commands that help: doctor eth0
#include <iostream>

#include <tapline/doctor.hpp>

int main(int argc, char **argv) try {
    if (argc != 2) {
        std::cerr << "usage: doctor INTERFACE\n";
        return 2;
    }
    for (const tapline::finding &found : tapline::examine(argv[1]).value()) {
        const char *mark = found.severity == TAPLINE_SEVERITY_SEVERE ? "severe: " : "";
        std::cout << mark << found.id << ": " << found.observed << ": " << found.effect << '\n';
        // A command in each line, or none at all.
        std::cout << found.remedy << (found.remedy.empty() ? "" : "\n");
    }
    return 0;
} catch (const tapline::bad_result &failed) {
    std::cerr << failed.what() << '\n';
    return 1;
}
