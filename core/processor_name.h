// The host's processor, as reports name it.
#pragma once

#include <string>

namespace reprise {

// "AMD EPYC 7742 64-Core Processor"; "CPU" where the system does not name it.
[[nodiscard]] std::string ProcessorName();

}  // namespace reprise
