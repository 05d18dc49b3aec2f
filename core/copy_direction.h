// Where a profiler's memcpy or memset moves bytes, by its name.
#pragma once

#include <cstdint>
#include <string_view>

namespace reprise {

enum class CopyDirection : std::uint8_t {
  kWithin,    // of a device's memory, between devices, or not said
  kToDevice,  // from the host
  kToHost,
  kFill,  // writes and reads nothing
};

// "Memcpy HtoD (Pinned -> Device)", ROCm's "CopyDeviceToHost", "Memset (Device)".
[[nodiscard]] CopyDirection CopyDirectionOf(std::string_view name);

}  // namespace reprise
