#include "core/input_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <utility>

#include "core/shown_text.h"
#include "core/text.h"

namespace reprise {
namespace {

InputLimits& StoredLimits() {
  static InputLimits limits;
  return limits;
}

struct LimitName {
  std::string_view name;
  std::uint64_t InputLimits::*member;
};
constexpr LimitName kLimitNames[] = {{"bytes", &InputLimits::bytes},
                                     {"ratio", &InputLimits::ratio},
                                     {"nodes_per_byte", &InputLimits::nodes_per_byte},
                                     {"depth", &InputLimits::depth},
                                     {"string_bytes", &InputLimits::string_bytes},
                                     {"values", &InputLimits::values},
                                     {"ranks", &InputLimits::ranks},
                                     {"roles", &InputLimits::roles},
                                     {"members", &InputLimits::members},
                                     {"layers", &InputLimits::layers},
                                     {"steps", &InputLimits::steps},
                                     {"job_nodes", &InputLimits::job_nodes},
                                     {"jobs", &InputLimits::jobs},
                                     {"files", &InputLimits::files}};

constexpr std::uint64_t kNoLimit = std::uint64_t{1} << 62;

std::string_view KindText(mode_t mode) {
  return S_ISDIR(mode)    ? "a directory"
         : S_ISFIFO(mode) ? "a FIFO"
         : S_ISSOCK(mode) ? "a socket"
                          : "a device";
}

ErrorKind KindOf(int code) {
  return code == EMFILE || code == ENFILE || code == ENOMEM ? ErrorKind::kEnvironment
                                                            : ErrorKind::kBadInput;
}

}  // namespace

tl::unexpected<Error> CannotList(const std::string& directory, const std::error_code& why) {
  return Fail(KindOf(why.value()),
              fmt::format("{}: cannot read the directory: {}", directory, why.message()));
}

void SetInputLimits(const InputLimits& limits) { StoredLimits() = limits; }

const InputLimits& CurrentInputLimits() { return StoredLimits(); }

std::string InputLimitNames() {
  std::string names;
  for (const LimitName& limit : kLimitNames) {
    names.append(names.empty() ? "" : ", ").append(limit.name);
  }
  return names;
}

Result<InputLimits> ParseInputLimits(const std::string& text) {
  InputLimits limits;
  if (text == "none") {
    for (const auto& [name, member] : kLimitNames) {
      limits.*member = kNoLimit;
    }
    return limits;
  }
  for (const std::string_view part : SplitText(text, ',')) {
    const std::size_t equals = std::min(part.find('='), part.size());
    const auto* const known =
        std::ranges::find(kLimitNames, part.substr(0, equals), &LimitName::name);
    const std::string value(part.substr(std::min(equals + 1, part.size())));
    char* end = nullptr;
    const double number = std::strtod(value.c_str(), &end);
    if (known == std::end(kLimitNames) || value.empty() || *end != '\0' || !(number >= 1) ||
        number > static_cast<double>(kNoLimit)) {
      return UsageError(
          fmt::format("--limits {}: expected none, or NAME=NUMBER[,…] with the names {}",
                      ShownText(text), InputLimitNames()));
    }
    limits.*known->member = static_cast<std::uint64_t>(number);
  }
  return limits;
}

tl::unexpected<Error> OverLimit(const std::string& path, const std::string& what,
                                std::string_view limit) {
  return BadInput(
      fmt::format("{}: {}; damaged, or made to exhaust time or memory; if it is sound, --limits "
                  "{}=… raises the limit",
                  path, what, limit));
}

Status CheckNodeCount(const std::string& path, std::uint64_t nodes, std::uint64_t offset,
                      std::uint64_t file_bytes) {
  if (nodes >= InputLimits::kFreeNodes &&
      nodes / CurrentInputLimits().nodes_per_byte > file_bytes) {
    return OverLimit(path,
                     fmt::format("more than {} nodes at byte {}, from a file of {} bytes", nodes,
                                 offset, file_bytes),
                     "nodes_per_byte");
  }
  return {};
}

Result<OpenedInput> OpenInput(const std::string& path) {
  FileDescriptor descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (descriptor.get() < 0) {
    return Fail(KindOf(errno), fmt::format("{}: cannot be opened: {}", path, std::strerror(errno)));
  }
  struct stat info {};
  if (::fstat(descriptor.get(), &info) != 0 || !S_ISREG(info.st_mode)) {
    return BadInput(fmt::format("{}: is {}, expected a regular file; copy its content into a file",
                                path, KindText(info.st_mode)));
  }
  return OpenedInput{std::move(descriptor), static_cast<std::uint64_t>(info.st_size)};
}

std::string FirstBytes(const std::string& path, std::size_t most) {
  std::string bytes;
  if (const auto input = OpenInput(path)) {
    bytes.resize(std::min<std::uint64_t>(most, input->bytes));
    const ssize_t got = ::pread(input->descriptor.get(), bytes.data(), bytes.size(), 0);
    bytes.resize(static_cast<std::size_t>(std::max<ssize_t>(0, got)));
  }
  return bytes;
}

Status ExpansionBudget::Check(std::uint64_t unpacked, std::uint64_t packed) const {
  const InputLimits& limits = CurrentInputLimits();
  if (unpacked > limits.bytes) {
    return OverLimit(path_, fmt::format("more than {} bytes unpacked", limits.bytes), "bytes");
  }
  if (unpacked > InputLimits::kFreeBytes && unpacked / limits.ratio > packed) {
    return OverLimit(path_,
                     fmt::format("{} bytes came from {} packed ones, over the limit of {} to 1",
                                 unpacked, packed, limits.ratio),
                     "ratio");
  }
  return {};
}

Status CheckJsonText(std::string_view text, const std::string& origin) {
  const InputLimits& limits = CurrentInputLimits();
  std::uint64_t depth = 0;
  std::uint64_t values = 1;
  for (std::size_t i = 0; i < text.size(); ++i) {
    switch (text[i]) {
      case '"': {
        const std::size_t begin = i;
        for (++i; i < text.size() && text[i] != '"'; ++i) {
          i += text[i] == '\\' ? 1 : 0;
        }
        if (i - begin > limits.string_bytes) {
          return OverLimit(origin, fmt::format("a text of {} bytes at byte {}", i - begin, begin),
                           "string_bytes");
        }
        break;
      }
      case '[':
      case '{':
        if (++depth > limits.depth) {
          return OverLimit(origin,
                           fmt::format("lists in lists deeper than {} at byte {}", limits.depth, i),
                           "depth");
        }
        ++values;
        break;
      case ']':
      case '}':
        depth -= depth > 0 ? 1 : 0;
        break;
      case ',':
        ++values;
        break;
      default:
        break;
    }
    if (values > limits.values) {
      return OverLimit(origin, fmt::format("more than {} values", limits.values), "values");
    }
  }
  return {};
}

Result<std::string> ReadText(const std::string& path, std::uint64_t most_bytes) {
  REPRISE_ASSIGN(const OpenedInput input, OpenInput(path));
  if (input.bytes > most_bytes) {
    return BadInput(
        fmt::format("{}: {} bytes, expected at most {}", path, input.bytes, most_bytes));
  }
  std::string text;
  constexpr std::size_t kPieceBytes = std::size_t{1} << 18;
  for (ssize_t got = 1; got != 0 && text.size() <= most_bytes;) {
    const std::size_t size = text.size();
    text.resize(size + kPieceBytes);
    got = ::read(input.descriptor.get(), text.data() + size, kPieceBytes);
    text.resize(size + static_cast<std::size_t>(std::max<ssize_t>(0, got)));
    if (got < 0 && errno != EINTR) {
      return BadInput(fmt::format("{}: reading failed: {}", path, std::strerror(errno)));
    }
  }
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (text.starts_with(kByteOrderMark)) {
    text.erase(0, kByteOrderMark.size());
  }
  return text;
}

Result<std::string> ReadJsonText(const std::string& path, std::uint64_t most_bytes) {
  REPRISE_ASSIGN(std::string text, ReadText(path, most_bytes));
  REPRISE_TRY(CheckJsonText(text, path));
  return text;
}

}  // namespace reprise
