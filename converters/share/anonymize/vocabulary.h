// Which names are public, so that they say nothing of one's own model or machines: an allow-list
// (public_names.txt and the operator table). Immutable after creation, thread-safe.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>

#include "core/result.h"
#include "core/text.h"

namespace reprise {

class Vocabulary {
 public:
  // The program's own list, and the names of `more`: a file of the same format, "" for none.
  // Bad input: that file has a section that does not exist.
  static Result<Vocabulary> Create(const std::string& more = "");

  // Operators, frames of PyTorch's, standard ranges and steps: "aten::mm", "AddmmBackward0",
  // "Optimizer.step#Adam.step", "ProfilerStep#8".
  [[nodiscard]] bool IsName(std::string_view name) const;
  // A device function's name without template arguments and parameters, if that is public.
  [[nodiscard]] std::optional<std::string> PublicKernel(std::string_view name) const;
  // The value of a string argument, devices apart.
  [[nodiscard]] bool IsString(std::string_view text) const;
  // What a trace's header says of its origin: all words known, or numbers.
  [[nodiscard]] bool IsHeaderText(std::string_view text) const;
  // The model of a processor or device, or a version of PyTorch: begins with a known word, the
  // others are known as well or short with a digit ("9654", "MI300X", "80GB").
  [[nodiscard]] bool IsHardware(std::string_view text) const;

 private:
  enum Section {
    kNames,
    kOptimizers,
    kKernels,
    kNcclWords,
    kStrings,
    kHeaderWords,
    kHardwareWords,
    kSections
  };
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>()(text);
    }
  };
  using Names = std::unordered_set<std::string, Hash, std::equal_to<>>;

  [[nodiscard]] Status Add(std::string_view text, const std::string& origin);
  void AddName(const std::string& name);
  [[nodiscard]] bool Has(Section section, std::string_view text) const {
    return sections_[section].contains(text);
  }
  [[nodiscard]] bool IsOptimizerRange(std::string_view name) const;
  [[nodiscard]] bool IsBackwardNode(std::string_view name) const;
  [[nodiscard]] bool AllWords(Section section, std::string_view text) const;

  std::array<Names, kSections> sections_;
  Names backward_;  // "Addmm" of aten::addmm: what autograd calls its nodes after
};

// A device as tensors have it, "cuda:3": its type and number (-1: none). Nothing if it is none of
// the public types.
struct DeviceName {
  std::string_view type;
  std::int32_t number = -1;
};
[[nodiscard]] std::optional<DeviceName> ParseDevice(std::string_view text);

// What texts of a placement a set may hold that is to be shared.

// A host in place of its name: "host0".
[[nodiscard]] inline std::string NumberedHost(std::size_t number) {
  return "host" + std::to_string(number);
}
[[nodiscard]] inline bool IsNumberedHost(std::string_view text) {
  constexpr std::string_view kHost = "host";
  return text.starts_with(kHost) && IsNumber(text.substr(kHost.size()));
}
// NUMA nodes ("0-1,3") or a kind of link.
[[nodiscard]] inline bool IsPlacementText(std::string_view text) {
  return text.find_first_not_of("0123456789,-") == std::string_view::npos || text == "nvlink" ||
         text == "xgmi";
}

}  // namespace reprise
