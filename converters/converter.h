// Converters: captures of any supported format in, a trace set out. One line each in builtin.def.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "converters/operation_cost.h"
#include "converters/resumed_ranks.h"
#include "core/diagnostics.h"
#include "core/result.h"
#include "et_schema/link_report.h"

namespace reprise {

class Processes;  // core/processes.h

// Which of several repeats of a step to take, where two recordings were linked by order.
enum class RepeatChoice : std::uint8_t {
  kRecorded,  // the one that both recorded, if sequence numbers match, else the best match
  kMedian,    // the one whose duration is the median
};

struct ConvertRequest {
  // Either a directory that holds the captures of all ranks, or one file that is a whole capture,
  // and the directory to write to, or for one rank `output_file` …
  std::string input_directory;
  std::string input_file;
  std::string output_directory;
  std::string name;          // of the trace set; the input's if empty
  std::string rank_pattern;  // regular expression: its group is the rank in a file's name
  std::string capture;       // of several in the directory
  // … or one rank's two files, and the file to write.
  std::string host_trace;
  std::string device_trace;
  std::int32_t rank = -1;  // -1: as the files say
  std::string output_file;

  // For formats that describe one rank for all.
  std::optional<std::int32_t> world_size;  // ranks to write
  std::int32_t passes = 1;                 // iterations of the workload

  bool fold = false;    // a directory: as a folded capture (et_schema/folded_set.h)
  bool force = false;   // replace an output that exists; it is refused otherwise
  bool resume = false;  // take up an ended run's work, and keep this one's (kept_work.h)
  bool strict = false;  // fail (bad input) where a trace could be written only with something lost
  bool mem_nodes = false;  // copies between host and device as Chakra's MEM_LOAD and MEM_STORE
  RepeatChoice repeat = RepeatChoice::kRecorded;
  // Kineto traces of the phase in which device graphs were recorded, beside the captures' own.
  std::vector<std::string> graph_captures;
  // Kineto traces of the same program without graphs, whose kernels may be twins of graphs' ones.
  std::vector<std::string> like;
  // Those that share the work of a whole directory: all of them convert, and each gets the report
  // of all. Null, and other conversions: one process does it.
  Processes* processes = nullptr;
  CostTable costs;  // null: FLOPs and bytes are written only where the input has them
};

struct ConvertedRank {
  std::int32_t rank = 0;
  std::string path;
  std::string host_trace, device_trace;  // what it was made of, where captures have such files
  std::uint64_t nodes = 0;
  std::uint64_t edges = 0;
  std::uint64_t transfers = 0;
  std::uint64_t recorded_operations = 0;  // in the capture
  LinkReport link;
  bool taken_up = false;  // its file is that of an earlier run
};

struct ConvertReport {
  std::vector<ConvertedRank> ranks;
  std::map<std::string, std::uint64_t> groups;  // "0 (default_pg)" → transfers of all ranks
  std::uint64_t recorded_groups = 0;  // transfers by certainty of their group (core/comm.h)
  std::uint64_t inferred_groups = 0;
  std::uint64_t unknown_groups = 0;
  Diagnostics diagnostics;
  std::vector<std::string> notes;       // sentences about what was recorded, for the user
  std::optional<ResumedRanks> resumed;  // with ConvertRequest::resume
  // What the conversion worked on. Freeing it takes up to a tenth of the time of the conversion: a
  // process that ends anyway may keep it.
  std::shared_ptr<const void> workspace;
};

// For --strict: bad input that names the first of `losses` that was counted.
[[nodiscard]] Status RefuseLosses(const Diagnostics& diagnostics,
                                  std::initializer_list<std::string_view> losses);

// One capture format. Plain functions, so that a table of them is data.
struct ConverterKind {
  std::string_view name;  // "pytorch"
  std::string_view help;  // one line
  // Whether `path` (a directory or a file) looks like this format; reads no more than a few kB.
  bool (*sniff)(const std::string& path) = nullptr;
  bool shares_ranks = false;  // of a directory, among ConvertRequest::processes; and may resume
  // Writes all outputs or, on failure, none.
  Result<ConvertReport> (*convert)(const ConvertRequest& request) = nullptr;
};

[[nodiscard]] std::span<const ConverterKind> BuiltinConverters();
[[nodiscard]] const ConverterKind* FindConverter(std::string_view name);
// The first converter that recognises `path`, else nullptr.
[[nodiscard]] const ConverterKind* SniffConverter(const std::string& path);

}  // namespace reprise
