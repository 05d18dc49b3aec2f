// Opening and bounding what others wrote: regular files only, and budgets that apply before memory
// is taken. docs/threat_model.md has the defaults.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>

#include "core/file_descriptor.h"
#include "core/result.h"

namespace reprise {

struct InputLimits {
  std::uint64_t bytes = std::uint64_t{1} << 40;  // of one file, unpacked
  // Unpacked bytes for each packed one, beyond kFreeBytes. Captures reach 10 to 40; zeros reach 230
  // to 1,032 in gzip, more than 10,000 in zstd.
  std::uint64_t ratio = 150;
  // Nodes of a trace for each byte of its file, packed or not, beyond kFreeNodes.
  std::uint64_t nodes_per_byte = 1;
  std::uint64_t depth = 512;                             // of JSON
  std::uint64_t string_bytes = std::uint64_t{64} << 20;  // of one JSON element or text
  std::uint64_t values = 10'000'000;                     // of a JSON document that is no trace
  // Counts: a few digits in a file can ask for any number.
  std::uint64_t ranks = std::uint64_t{1} << 20;  // of a set or a job
  std::uint64_t roles = 32;                      // of the groups of a folded set
  std::uint64_t members = 1024;                  // of a group that are compared with each other
  // Of a described job: layers × experts and stages of its model, steps, nodes of a class of ranks.
  std::uint64_t layers = std::uint64_t{1} << 17;
  std::uint64_t steps = 10'000;
  std::uint64_t job_nodes = 10'000'000;
  std::uint64_t jobs = 1'000'000;  // of a sweep
  std::uint64_t files = 1024;      // of ranks, where a folded set becomes a file a rank

  static constexpr std::uint64_t kFreeBytes = std::uint64_t{32} << 20;
  static constexpr std::uint64_t kFreeNodes = 500'000;
};

// The process's limits. Set once, before anything is read; reading them is thread-safe.
void SetInputLimits(const InputLimits& limits);
[[nodiscard]] const InputLimits& CurrentInputLimits();
// "bytes, ratio, …"
[[nodiscard]] std::string InputLimitNames();
// "bytes=1e12,ratio=1000", each name of InputLimits at most once, or "none". Usage error otherwise.
[[nodiscard]] Result<InputLimits> ParseInputLimits(const std::string& text);
// Bad input that ends with the option that raises the limit.
[[nodiscard]] tl::unexpected<Error> OverLimit(const std::string& path, const std::string& what,
                                              std::string_view limit);

// After so many nodes of a trace, of which the last begins at that byte.
[[nodiscard]] Status CheckNodeCount(const std::string& path, std::uint64_t nodes,
                                    std::uint64_t offset, std::uint64_t file_bytes);

// A regular file and its size. Bad input for anything else: FIFOs and devices may never end, and
// opening a FIFO may wait forever.
struct OpenedInput {
  FileDescriptor descriptor;
  std::uint64_t bytes = 0;
};
[[nodiscard]] Result<OpenedInput> OpenInput(const std::string& path);
// The bytes that a regular file begins with, at most `most`; empty for anything else, and for what
// cannot be read. What a file of any kind is asked for its form goes through here.
[[nodiscard]] std::string FirstBytes(const std::string& path, std::size_t most);

// What packed files begin with: RFC 1952, RFC 8878.
inline constexpr std::string_view kGzipMagic = "\x1f\x8b";
inline constexpr std::string_view kZstdMagic = "\x28\xb5\x2f\xfd";

// A directory cannot be listed: bad input, or the environment's where descriptors or memory ran
// out.
[[nodiscard]] tl::unexpected<Error> CannotList(const std::string& directory,
                                               const std::error_code& why);

// Of one file that is unpacked while it is read.
class ExpansionBudget {
 public:
  explicit ExpansionBudget(std::string path) : path_(std::move(path)) {}
  // After each piece: all bytes unpacked so far, all bytes used of the file.
  [[nodiscard]] Status Check(std::uint64_t unpacked, std::uint64_t packed) const;

 private:
  std::string path_;
};

// Depth, number of values and length of strings of a JSON text, before it is parsed. `origin`
// begins the message.
[[nodiscard]] Status CheckJsonText(std::string_view text, const std::string& origin);
// The text of a small regular file, without a byte order mark; more than `most_bytes` are bad
// input.
[[nodiscard]] Result<std::string> ReadText(const std::string& path, std::uint64_t most_bytes);
// The same of a JSON document, checked by CheckJsonText.
[[nodiscard]] Result<std::string> ReadJsonText(const std::string& path,
                                               std::uint64_t most_bytes = std::uint64_t{64} << 20);

}  // namespace reprise
