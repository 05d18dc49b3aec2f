// What an entry of rocprofv3's JSON says beside its records: of its process, and the names that
// records refer to.
#pragma once

#include <fmt/format.h>
#include <simdjson.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "converters/json_members.h"
#include "converters/json_walk.h"
#include "converters/pytorch/rocprof/rocprof_records.h"
#include "core/result.h"

namespace reprise::pytorch {

[[nodiscard]] std::optional<std::int64_t> WholeIn(const JsonMember& value);
// Of {"handle": 5}, as the profiler writes its numbers of things. Above 2^63: as the same bits.
[[nodiscard]] std::optional<std::int64_t> HandleIn(const JsonMember& value);

// What an entry says before its records, or behind them.
struct EntryNames {
  struct Agent {
    std::int64_t number = 0;  // among those of its type
    bool is_gpu = false;
    std::string name;
  };
  struct Domain {
    std::string name;
    std::vector<std::string> operations;
  };
  struct Kernel {
    std::string name;
    std::optional<std::int64_t> registers;
  };

  // Of a handle. No agent: device 0; nothing known of its type.
  [[nodiscard]] std::int64_t DeviceOf(std::optional<std::int64_t> agent) const;
  [[nodiscard]] std::optional<bool> IsGpu(std::optional<std::int64_t> agent) const;
  // By the numbers that a record has; nullptr, or empty: there is none.
  [[nodiscard]] const Domain* DomainOf(std::uint64_t kind) const;
  [[nodiscard]] std::string_view OperationOf(std::uint64_t kind, std::uint64_t operation) const;

  std::unordered_map<std::int64_t, Agent> agents;  // by handle
  std::vector<Domain> domains;                     // by number
  std::unordered_map<std::int64_t, Kernel> kernels;
  std::unordered_map<std::int64_t, const std::string*> messages;  // of ranges, by correlation
  std::unordered_set<std::string> texts;  // that messages point to, each once
};

// Parses values of one text.
class ValueReader {
 public:
  ValueReader(JsonWalk& walk, const std::string& path) : walk_(walk), path_(path) {}

  // The value that is next, until the next one.
  Result<simdjson::dom::element> Parse() {
    REPRISE_ASSIGN(const std::string_view text, walk_.Take());
    simdjson::dom::element root;
    const auto error = parser_.parse(text.data(), text.size(), false).get(root);
    if (error != simdjson::SUCCESS) {
      return BadInput(fmt::format("{}: not JSON: {} in the value at byte {}", path_,
                                  simdjson::error_message(error), walk_.at_byte() - text.size()));
    }
    return root;
  }

  // Each element of the list that is next; another value is passed.
  template <typename Visit>
  Status ForEach(const Visit& visit) {
    REPRISE_ASSIGN(const char c, walk_.Peek());
    if (c != '[') {
      return walk_.Skip();
    }
    REPRISE_TRY(walk_.Enter());
    for (;;) {
      REPRISE_ASSIGN(const bool more, walk_.NextElement());
      if (!more) {
        return {};
      }
      REPRISE_ASSIGN(const simdjson::dom::element root, Parse());
      visit(root);
    }
  }

  // Each member of the object that is next, whose value the visitor reads; another value is passed.
  template <typename Visit>
  Status ForEachMember(const Visit& visit) {
    REPRISE_ASSIGN(const char c, walk_.Peek());
    if (c != '{') {
      return walk_.Skip();
    }
    REPRISE_TRY(walk_.Enter());
    std::string name;
    for (;;) {
      REPRISE_ASSIGN(const bool more, walk_.NextMember(name));
      if (!more) {
        return {};
      }
      REPRISE_TRY(visit(std::string_view(name)));
    }
  }

 private:
  JsonWalk& walk_;
  const std::string& path_;
  simdjson::dom::parser parser_;
};

// Goes into the list of entries. False: there is none, and the text's object ended.
[[nodiscard]] Result<bool> GoToEntries(JsonWalk& walk);
// Goes to the entry with this index. Bad input: there are fewer.
[[nodiscard]] Status GoToEntry(JsonWalk& walk, std::int64_t index, const std::string& path);

// The members of an entry that is next, up to the last that names things: records follow, as the
// profiler writes them.
[[nodiscard]] Status ReadEntryNames(JsonWalk& walk, const std::string& path, EntryNames& names);

// The whole entry that is next, for what it says of its process. How many kernels it dispatched.
[[nodiscard]] Result<std::uint64_t> DescribeEntry(JsonWalk& walk, const std::string& path,
                                                  RocprofProcess& process);

}  // namespace reprise::pytorch
