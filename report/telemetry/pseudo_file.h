// A file of /proc or /sys: opened once, read again at each tick.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.h"

namespace reprise {

// Never blocks: anything but a regular file (all of /proc and /sys is) is refused at opening.
class PseudoFile {
 public:
  // The error's message names the path and the reason; kEnvironment. `denied`, where given, is set
  // if the reason is a missing permission.
  static Result<PseudoFile> Open(const std::string& path, bool* denied = nullptr);
  PseudoFile(PseudoFile&& other) noexcept;
  PseudoFile& operator=(PseudoFile&& other) noexcept;
  PseudoFile(const PseudoFile&) = delete;
  PseudoFile& operator=(const PseudoFile&) = delete;
  ~PseudoFile();

  // The text as it is now, valid until the next call. Nothing if it cannot be read.
  [[nodiscard]] std::optional<std::string_view> Text();
  // The number that the text begins with: what most files of /sys hold.
  [[nodiscard]] std::optional<std::int64_t> Number();

 private:
  explicit PseudoFile(int descriptor) : descriptor_(descriptor) {}
  int descriptor_ = -1;
  std::string buffer_;
};

// Names in a directory that begin with `prefix`, by the number that follows it (hwmon2 before
// hwmon10), then by name. Empty if there is no such directory.
[[nodiscard]] std::vector<std::string> ListPrefixed(const std::string& directory,
                                                    std::string_view prefix);
// The first line of a file, if there is one: a label.
[[nodiscard]] std::string ReadLabel(const std::string& path);
// Where the symlink "device" of a directory under /sys/class leads, if that is a PCI device: its
// bus id ("0000:01:00.0"). Else empty.
[[nodiscard]] std::string PciBusIdOfDevice(const std::string& directory);
// The number at the beginning of a text, after blanks.
[[nodiscard]] std::optional<std::int64_t> ParseNumber(std::string_view text);
// A name not in `taken`: `name` itself, else with `suffix` in brackets. It is added to `taken`.
[[nodiscard]] std::string UniqueName(const std::string& name, const std::string& suffix,
                                     std::vector<std::string>& taken);

}  // namespace reprise
