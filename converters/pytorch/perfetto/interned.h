// Texts that Perfetto's packets have once and refer to by number: each sequence of packets has its
// own.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace reprise::pytorch {

class InternedTexts {
 public:
  enum class Kind : std::uint8_t {
    kCategory,
    kName,
    kAnnotationName,
    kAnnotationText,
    kStage,     // of work on a GPU, and its queues
    kKernel,    // as they read in source code
    kArgument,  // of a kernel's launch
  };

  // Takes in one InternedData message. False: it is malformed.
  [[nodiscard]] bool Add(std::string_view message);
  void Clear() { *this = {}; }
  // nullptr: no packet had it.
  [[nodiscard]] const std::string* Find(Kind kind, std::uint64_t id) const;

  struct Counters {
    std::int32_t gpu = 0;
    std::map<std::uint64_t, std::string> names;  // by counter id
  };
  [[nodiscard]] const Counters* FindCounters(std::uint64_t id) const;

 private:
  std::array<std::unordered_map<std::uint64_t, std::string>, 7> texts_;
  std::unordered_map<std::uint64_t, Counters> counters_;
};

// The names of a GpuCounterDescriptor. False: it is malformed.
[[nodiscard]] bool ReadCounterNames(std::string_view message,
                                    std::map<std::uint64_t, std::string>& names);

}  // namespace reprise::pytorch
