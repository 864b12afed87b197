// doctor INTERFACE: the severe findings about it.
#include <iostream>
#include <tapline/doctor.hpp>

int main(int count, char **words)
{
    if (count != 2 || tapline::examine("nowhere0")) {
        return 2;
    }
    for (const auto &found : tapline::examine(words[1]).value()) {
        if (found.severity == TAPLINE_SEVERITY_SEVERE && found.observed.find(words[1]) != std::string::npos) {
            std::cout << found.id << ": " << found.observed << ": " << found.effect << ": " << found.remedy << '\n';
        }
    }
}
