// Diagnosis of the host.
#ifndef TAPLINE_DOCTOR_HPP
#define TAPLINE_DOCTOR_HPP

#include <string>
#include <vector>

#include "handle.hpp"
#include "options.hpp"

namespace tapline {

/// A problem for captures or pings.
struct finding {
    /// Name of the check. Stable across releases.
    std::string id;
    ::tapline_severity severity = TAPLINE_SEVERITY_INFO;
    /// What the check observed.
    std::string observed;
    /// How that affects captures or pings.
    std::string effect;
    /// Shell commands for root that solve the problem, one in a line. A line that starts with `#` is advice.
    std::string remedy;
};

/// Checks the host and, unless its name is empty, an interface. The most severe findings come first.
inline result<std::vector<finding>> examine(const std::string &interface = {}) {
    detail::c_strings text;
    const char *const name = text.unless_empty("interface", interface);
    if (auto wrong = text.wrong()) {
        return *std::move(wrong);
    }
    ::tapline_doctor *raw = nullptr;
    auto status = detail::call(&::tapline_doctor_examine, name, &raw);
    if (!status) {
        return std::move(status).error();
    }
    const handle<::tapline_doctor, &::tapline_doctor_free> report(raw);
    std::vector<finding> findings;
    ::tapline_finding found = {};
    while (::tapline_doctor_finding(raw, findings.size(), &found, nullptr) == TAPLINE_STATUS_OK) {
        findings.push_back({found.id, static_cast<::tapline_severity>(found.severity), found.observed, found.effect,
                            found.remedy});
    }
    return findings;
}

}  // namespace tapline

#endif
