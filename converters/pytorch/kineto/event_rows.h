// The rows of a Kineto file that events are on: "pid" and "tid", numbers or, in some files, text
// ("4242", "stream 7", "[TP00] 83"). Thread numbers are a process's own.
#pragma once

#include <simdjson.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "converters/json_members.h"
#include "core/diagnostics.h"
#include "core/result.h"

namespace reprise::pytorch {

struct RowId {
  std::int64_t number = -1;
  std::string text;  // where it is no number
  auto operator<=>(const RowId&) const = default;
};
[[nodiscard]] RowId ReadRowId(const JsonMember& value);
[[nodiscard]] std::string RowText(const RowId& id);
// The number of a row: itself, or what its text ends in ("stream 7" → 7); `otherwise` without any.
[[nodiscard]] std::int64_t RowNumber(const JsonMember& value, std::int64_t otherwise);

struct EventRow {
  RowId process, thread;
  // What was recorded there, to tell the processes of a file apart.
  std::uint64_t operations = 0, steps = 0, communication_calls = 0, runtime_calls = 0;
};

// The rows of a part of a file, by index in order of their first event.
class EventRows {
 public:
  std::int32_t Find(const JsonMember& process, const JsonMember& thread);
  // Adds the rows of what follows: their indexes here, by index there.
  std::vector<std::int32_t> Append(const EventRows& more);
  [[nodiscard]] EventRow& operator[](std::int64_t i) { return rows_[static_cast<std::size_t>(i)]; }
  [[nodiscard]] const std::vector<EventRow>& All() const { return rows_; }

 private:
  std::int32_t Add(EventRow row);

  std::vector<EventRow> rows_;
  std::map<std::pair<RowId, RowId>, std::int32_t> known_;
  std::int32_t last_ = -1;
};

// What a file says of a process beside its events: "process_name", "process_labels".
using ProcessNames = std::map<RowId, std::pair<std::string, std::string>>;

// Whether a file labels that row as a device ("GPU 0", "MTIA 9"), not as "CPU".
[[nodiscard]] bool IsDevice(const ProcessNames& names, const RowId& process);

// Processes that launched device work, marked steps or called collectives beside each other: bad
// input that names them. `launches`: by row, calls that launched what the device did.
[[nodiscard]] Status CheckOneProcess(const std::string& path, const EventRows& rows,
                                     const std::vector<std::uint64_t>& launches);

// The thread number of every row: its "tid". Rows without a number, and those of a second process
// that has operations, get free numbers (counted: `thread_renumbered`).
[[nodiscard]] std::vector<std::int64_t> ThreadNumbers(const std::string& path,
                                                      const EventRows& rows,
                                                      Diagnostics& diagnostics);

}  // namespace reprise::pytorch
