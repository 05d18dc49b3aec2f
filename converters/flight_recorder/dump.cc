#include "converters/flight_recorder/dump.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <cmath>

#include "converters/flight_recorder/dump_values.h"
#include "converters/flight_recorder/pickle.h"
#include "converters/json_split.h"
#include "converters/pytorch/host/process_groups.h"
#include "converters/text_source.h"
#include "core/input_file.h"
#include "core/text.h"

namespace reprise::flight_recorder {
namespace {

using Kind = DumpValue::Kind;

constexpr std::int64_t kNewestMajor = 2;
// Names are shown and become nodes' names.
constexpr std::size_t kLongestName = 1024;

class DumpReader {
 public:
  DumpReader(const TextFile& file, Diagnostics& diagnostics)
      : file_(file), diagnostics_(diagnostics) {}

  Result<Dump> ReadFromPickle() {
    dump_.form = "pickle";
    DumpValues values;
    REPRISE_ASSIGN(const ValueId root, ReadPickle(file_, values));
    if (values.At(root).kind != Kind::kDict) {
      return NotADump();
    }
    const ValueId entries = values.Find(root, "entries");
    const std::vector<ValueId>& members = values.ItemsOf(root);
    for (std::size_t i = 0; i + 1 < members.size(); i += 2) {
      REPRISE_TRY(ReadMember(values, values.Text(members[i]), members[i + 1]));
    }
    const std::vector<ValueId>& list = values.ItemsOf(entries);
    for (const ValueId entry : list) {
      REPRISE_TRY(ReadEntry(values, entry));
    }
    return Finish(entries != kNoValue);
  }

  Result<Dump> ReadFromJson() {
    dump_.form = "JSON";
    REPRISE_ASSIGN(const SplitJson json, SplitObject(file_, "entries"));
    for (const auto& member : json.members) {
      if (member.first == "entries") {
        continue;
      }
      REPRISE_TRY(Parse(member.second, [&](const DumpValues& values, ValueId value) {
        return ReadMember(values, member.first, value);
      }));
    }
    for (const std::string_view element : json.elements) {
      REPRISE_TRY(Parse(element, [&](const DumpValues& values, ValueId value) {
        return ReadEntry(values, value);
      }));
    }
    return Finish(json.has_array);
  }

 private:
  [[nodiscard]] tl::unexpected<Error> NotADump() const {
    return BadInput(fmt::format(
        "{}: holds no dump of PyTorch's flight recorder: expected a dict with version, pg_config "
        "and entries",
        file_.path()));
  }

  Result<Dump> Finish(bool has_entries) {
    if (dump_.version.empty() && !has_entries) {
      return NotADump();
    }
    const std::string_view major =
        std::string_view(dump_.version).substr(0, dump_.version.find('.'));
    if (ParseNumber<std::int64_t>(major).value_or(0) > kNewestMajor) {
      diagnostics_.Count("recorder_version_newer",
                         fmt::format("{}: version {}", file_.path(), dump_.version));
    }
    return std::move(dump_);
  }

  template <typename Visit>
  Status Parse(std::string_view text, const Visit& visit) {
    REPRISE_ASSIGN(const simdjson::dom::element element, ParseElement(parser_, file_, text));
    DumpValues values;
    const ValueId root = AddJson(element, values);
    return visit(values, root);
  }
  static ValueId AddJson(simdjson::dom::element element, DumpValues& values) {
    switch (element.type()) {
      case simdjson::dom::element_type::ARRAY: {
        const ValueId list = values.AddList();
        for (const simdjson::dom::element item : simdjson::dom::array(element)) {
          values.Append(list, AddJson(item, values));
        }
        return list;
      }
      case simdjson::dom::element_type::OBJECT: {
        const ValueId dict = values.AddDict();
        for (const auto& [key, value] : simdjson::dom::object(element)) {
          values.Append(dict, values.Add({.kind = Kind::kText, .text = key}));
          values.Append(dict, AddJson(value, values));
        }
        return dict;
      }
      case simdjson::dom::element_type::INT64:
        return values.Add({.kind = Kind::kInteger, .integer = std::int64_t(element)});
      case simdjson::dom::element_type::UINT64:
      case simdjson::dom::element_type::DOUBLE:
        return values.Add({.kind = Kind::kNumber, .number = double(element)});
      case simdjson::dom::element_type::STRING:
        return values.Add({.kind = Kind::kText, .text = std::string_view(element)});
      case simdjson::dom::element_type::BOOL:
        return values.Add({.kind = Kind::kBool, .integer = bool(element) ? 1 : 0});
      default:
        return values.Add({});
    }
  }

  void Unreadable(std::string_view what) {
    diagnostics_.Count("recorder_value_unreadable", fmt::format("{}: {}", file_.path(), what));
  }
  // A small file may refer to one list a million times.
  Status CheckWork(const DumpValues& values) const {
    constexpr std::uint64_t kVisitsOfAValue = 30;
    return values.visited() > CurrentInputLimits().values * kVisitsOfAValue ||
                   tensors_ > CurrentInputLimits().values
               ? OverLimit(file_.path(),
                           fmt::format("its {} values refer to each other, and stand for over {}",
                                       values.size(), values.visited()),
                           "values")
               : Status();
  }
  static std::string Name(std::string_view text) {
    return std::string(text.substr(0, kLongestName));
  }

  Status ReadMember(const DumpValues& values, std::string_view key, ValueId value) {
    if (key == "version") {
      dump_.version = Name(values.Text(value));
    } else if (key == "comm_lib_version" || key == "nccl_version") {
      dump_.library_version = Name(values.Text(value));
    } else if (key == "host_name") {
      dump_.host = Name(values.Text(value));
    } else if (key == "rank") {
      const auto rank = values.Integer(value);
      if (rank && *rank >= 0 && *rank < static_cast<std::int64_t>(CurrentInputLimits().ranks)) {
        dump_.rank = static_cast<std::int32_t>(*rank);
      }
    } else if (key == "pg_config") {
      return ReadGroups(values, value);
    }
    return CheckWork(values);
  }

  Status ReadGroups(const DumpValues& values, ValueId config) {
    const std::vector<ValueId>& items = values.ItemsOf(config);
    for (std::size_t i = 0; i + 1 < items.size(); i += 2) {
      DumpGroup group;
      const ValueId name = values.Find(items[i + 1], "name");
      group.name = Name(values.Text(name == kNoValue ? items[i] : name));
      group.description = Name(values.Text(values.Find(items[i + 1], "desc")));
      const ValueId ranks = values.Find(items[i + 1], "ranks");
      if (values.At(ranks).kind == Kind::kText) {
        bool cut = false;
        for (const std::int64_t rank : pytorch::ParseIntegerList(values.Text(ranks), cut)) {
          REPRISE_TRY(AddRank(rank, group));
        }
      } else {
        const std::vector<ValueId>& list = values.ItemsOf(ranks);
        for (const ValueId rank : list) {
          REPRISE_TRY(AddRank(values.Integer(rank).value_or(-1), group));
        }
      }
      dump_.groups.push_back(std::move(group));
      REPRISE_TRY(CheckWork(values));
    }
    return {};
  }
  Status AddRank(std::int64_t rank, DumpGroup& group) const {
    const std::uint64_t most = CurrentInputLimits().ranks;
    if (rank < 0 || rank >= static_cast<std::int64_t>(most) || group.ranks.size() >= most) {
      return OverLimit(file_.path(),
                       fmt::format("pg_config: group {} has rank {}", group.name, rank), "ranks");
    }
    group.ranks.push_back(static_cast<std::int32_t>(rank));
    return {};
  }

  Status ReadEntry(const DumpValues& values, ValueId id) {
    const std::string where = fmt::format("entry {}", dump_.entries.size());
    if (values.At(id).kind != Kind::kDict) {
      return BadInput(fmt::format("{}: {} is no dict; expected what the flight recorder writes",
                                  file_.path(), where));
    }
    DumpEntry entry;
    // A number above 0; JSON has 0 for what is not known.
    const auto time = [&](std::string_view key) {
      const std::int64_t ns = values.Integer(values.Find(id, key)).value_or(0);
      return ns > 0 && ns < INT64_MAX / 4 ? ns : -1;
    };
    const auto number = [&](std::string_view key) {
      const ValueId found = values.Find(id, key);
      const auto value = values.Integer(found);
      if (!value && values.At(found).kind != Kind::kNone) {
        Unreadable(fmt::format("{}: {} is no number", where, key));
      }
      return std::max<std::int64_t>(value.value_or(-1), -1);
    };
    entry.record = number("record_id");
    entry.collective = number("collective_seq_id");
    if (entry.collective < 0) {
      entry.collective = number("seq_id");  // dumps before 2.0
    }
    entry.p2p = number("p2p_seq_id");
    entry.name = Name(values.Text(values.Find(id, "profiling_name")));
    const std::vector<ValueId>& group = values.ItemsOf(values.Find(id, "process_group"));
    entry.group =
        Name(group.empty() ? values.Text(values.Find(id, "pg_name")) : values.Text(group.front()));
    entry.group_description = Name(group.size() > 1 ? values.Text(group[1]) : std::string_view());
    entry.created_ns = time("time_created_ns");
    entry.noticed_start_ns = time("time_discovered_started_ns");
    entry.noticed_end_ns = time("time_discovered_completed_ns");
    ReadDuration(values, id, where, entry);
    ReadState(values, id, where, entry);
    entry.retired = values.At(values.Find(id, "retired")).integer != 0;
    REPRISE_TRY(ReadTensors(values, id, "input", entry.inputs));
    REPRISE_TRY(ReadTensors(values, id, "output", entry.outputs));
    dump_.entries.push_back(std::move(entry));
    return {};
  }

  void ReadDuration(const DumpValues& values, ValueId id, const std::string& where,
                    DumpEntry& entry) {
    const ValueId found = values.Find(id, "duration_ms");
    if (values.At(found).kind == Kind::kNone) {
      return;
    }
    constexpr double kNsInMs = 1e6;
    constexpr double kLongestMs = 1e12;
    const auto ms = values.Number(found);
    if (!ms || !(*ms >= 0) || !(*ms < kLongestMs)) {
      Unreadable(fmt::format("{}: duration_ms", where));
      return;
    }
    entry.duration_ns = std::llround(*ms * kNsInMs);
  }

  void ReadState(const DumpValues& values, ValueId id, const std::string& where, DumpEntry& entry) {
    const std::string_view text = values.Text(values.Find(id, "state"));
    const auto state = ParseName<TransferState>(text);
    if (state) {
      entry.state = *state;
    } else {
      if (!text.empty()) {
        Unreadable(fmt::format("{}: state", where));
      }
      entry.state = entry.noticed_end_ns >= 0 || entry.duration_ns >= 0 ? TransferState::kCompleted
                    : entry.noticed_start_ns >= 0                       ? TransferState::kStarted
                                                                        : TransferState::kScheduled;
    }
  }

  // `input_sizes` with `input_dtypes`: a list for each tensor; or one type for all.
  Status ReadTensors(const DumpValues& values, ValueId id, std::string_view side,
                     std::vector<DumpTensor>& out) {
    const ValueId types = values.Find(id, fmt::format("{}_dtypes", side));
    const std::vector<ValueId>& dtypes = values.ItemsOf(types);
    const std::vector<ValueId>& sizes =
        values.ItemsOf(values.Find(id, fmt::format("{}_sizes", side)));
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      DumpTensor& tensor = out.emplace_back();
      ++tensors_;
      tensor.dtype = ParseDType(values.Text(i < dtypes.size() ? dtypes[i] : types));
      tensor.elements = 1;
      for (const ValueId size : values.ItemsOf(sizes[i])) {
        const std::int64_t dimension = values.Integer(size).value_or(-1);
        constexpr std::int64_t kMost = std::int64_t{1} << 62;
        if (dimension < 0 || tensor.elements < 0 ||
            (dimension > 0 && tensor.elements > kMost / dimension)) {
          tensor.elements = -1;
        } else {
          tensor.elements *= dimension;
        }
      }
      // gather and scatter have an undefined tensor where this rank has none.
      if (values.ItemsOf(sizes[i]).empty() && tensor.dtype == DType::kUnknown) {
        tensor.elements = 0;
      }
      REPRISE_TRY(CheckWork(values));
    }
    return CheckWork(values);
  }

  const TextFile& file_;
  Diagnostics& diagnostics_;
  simdjson::dom::parser parser_;
  std::uint64_t tensors_ = 0;
  Dump dump_;
};

bool Holds(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace

bool LooksLikeDump(const std::string& path) {
  constexpr std::size_t kHeadBytes = std::size_t{1} << 16;
  const std::string head = ReadHead(path, kHeadBytes);
  if (BeginsAsPickle(head)) {
    return Holds(head, "pg_config") || Holds(head, "profiling_name") ||
           (Holds(head, "entries") && Holds(head, "version"));
  }
  const std::size_t first = head.find_first_not_of(" \n\r\t");
  return first != std::string::npos && head[first] == '{' &&
         (Holds(head, "\"collective_seq_id\"") || Holds(head, "\"profiling_name\"") ||
          (Holds(head, "\"pg_config\"") && Holds(head, "\"pg_status\"")));
}

Result<Dump> ReadDump(const TextFile& file, Diagnostics& diagnostics) {
  DumpReader reader(file, diagnostics);
  const std::size_t first = file.text().find_first_not_of(" \n\r\t");
  const bool json = first != std::string_view::npos && file.text()[first] == '{';
  return json ? reader.ReadFromJson() : reader.ReadFromPickle();
}

}  // namespace reprise::flight_recorder
