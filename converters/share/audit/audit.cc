#include "converters/share/audit/audit.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "converters/share/anonymize/anonymize.h"
#include "converters/share/anonymize/keyed_hash.h"
#include "converters/share/anonymize/vocabulary.h"
#include "core/for_each_read.h"
#include "core/input_file.h"
#include "core/operators.h"
#include "core/output_kind.h"
#include "core/parse_json.h"
#include "core/text.h"
#include "et_schema/io.h"
#include "et_schema/trace_set.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;

bool IsOneOf(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), text) != words.end();
}

template <typename Enum>
bool IsNameOf(const Vocabulary& /*known*/, std::string_view text) {
  return ParseName<Enum>(text).has_value();
}
// Names, kernels as anonymize leaves them, and the classes that policies put in their place.
bool IsPublicName(const Vocabulary& known, std::string_view text) {
  return known.IsName(text) || known.PublicKernel(text) == text || ParseName<OpClass>(text) ||
         ParseName<CommKind>(text);
}
bool IsHeaderText(const Vocabulary& known, std::string_view text) {
  return known.IsHeaderText(text);
}
bool IsHardware(const Vocabulary& known, std::string_view text) { return known.IsHardware(text); }
bool IsPlacement(const Vocabulary& /*known*/, std::string_view text) {
  return IsPlacementText(text);
}
bool IsArgument(const Vocabulary& known, std::string_view text) {
  return known.IsString(text) || ParseDevice(text) || text == "<None>";
}
// A number, or a role of generated groups.
bool IsGroup(const Vocabulary& known, std::string_view text) {
  return IsNumber(text) || known.IsHeaderText(text);
}
bool IsLink(const Vocabulary& /*known*/, std::string_view text) {
  return IsOneOf(text, {"record function id", "alignment", "only one", "sequence numbers",
                        "best match", "last", "median"});
}

struct TextRule {
  std::string_view field;
  bool (*allows)(const Vocabulary& known, std::string_view text);
};
constexpr TextRule kTextRules[] = {
    {"node.name", IsPublicName},
    {"node.attr.parent", IsPublicName},
    {"node.attr.op", IsPublicName},
    // "aten::add.Tensor(…) -> …"
    {"node.attr.op_schema",
     [](auto& known, auto text) { return known.IsName(text.substr(0, text.find_first_of(".("))); }},
    {"node.attr.pg_name", IsGroup},
    {"node.attr.op_kind", IsNameOf<OpKind>},
    {"node.attr.op_class", IsNameOf<OpClass>},
    {"node.attr.actor", IsNameOf<Actor::Kind>},
    {"node.attr.op_source", IsNameOf<OpSource>},
    {"node.attr.rescaled", IsNameOf<Rescaled>},
    {"node.attr.comm_dtype",
     [](auto& /*known*/, auto text) {
       return text == "unknown" || ParseDType(text) != DType::kUnknown;
     }},
    {"node.attr.comm_reduce_op",
     [](auto& /*known*/, auto text) { return ParseReduceOp(text).has_value(); }},
    {"node.attr.comm_certainty", IsNameOf<GroupCertainty>},
    {"node.attr.comm_send_end", IsNameOf<SendEnd>},
    {"node.attr.comm_state", IsNameOf<TransferState>},
    {"node.inputs.values", IsArgument},
    {"node.outputs.values", IsArgument},
    {"header.version", IsHeaderText},
    {"header.attr.source", IsHeaderText},
    {"header.attr.machine_processor", IsHardware},
    {"header.attr.machine_device", IsHardware},
    {"header.attr.machine_framework", IsHardware},
    {"header.attr.placement_host", [](auto& /*known*/, auto text) { return IsNumberedHost(text); }},
    {"header.attr.placement_process_numa_nodes", IsPlacement},
    {"header.attr.placement_memory_numa_nodes", IsPlacement},
    {"header.attr.placement_link_kind", IsPlacement},
    {"header.attr.step_names", IsPublicName},
    {"header.attr.range_names", IsPublicName},
    {"header.attr.sample_names", IsNameOf<SampledQuantity>},
    {"header.attr.diagnostics_names",
     [](auto& /*known*/, auto text) {
       return text.find_first_not_of("abcdefghijklmnopqrstuvwxyz_") == text.npos;
     }},
    {"header.attr.link_method", IsLink},
    {"header.attr.link_choice", IsLink},
    {"group id", IsGroup},
    {"group description", IsHeaderText},
    {"set name", IsHeaderText},
};

// Whether a text may stand in that field of a set that is to be shared.
bool MayStand(const Vocabulary& known, std::string_view field, std::string_view text) {
  const auto* const rule = std::find_if(std::begin(kTextRules), std::end(kTextRules),
                                        [&](const TextRule& row) { return row.field == field; });
  return text.empty() || IsHashedName(text) ||
         (rule != std::end(kTextRules) && rule->allows(known, text));
}

class Auditor {
 public:
  Auditor(const AuditRequest& request, const TraceSet& set, const Vocabulary& vocabulary)
      : request_(request), set_(set), vocabulary_(vocabulary) {}

  Result<AuditReport> Run() {
    for (const TraceSet::DistinctRank& one : set_.DistinctRanks()) {
      REPRISE_TRY(Rank(one));
    }
    report_.facts = facts_.Facts(set_);
    for (const auto& [name, field] : report_.census.fields) {
      if (!IsSchemaField(name)) {
        Add("unknown field", name, "", field.count);
      }
      for (const auto& [text, count] : field.texts) {
        Check(name, text, count);
      }
    }
    if (const auto ids = report_.census.fields.find("header.attr.link_threads");
        ids != report_.census.fields.end()) {
      Add("process or thread ids", ids->first, "", ids->second.count);
    }
    Groups();
    Files();
    return std::move(report_);
  }

 private:
  Status Rank(const TraceSet::DistinctRank& one) {
    REPRISE_ASSIGN(const Census census, TakeCensus(one.file));
    report_.census.Merge(census);
    REPRISE_ASSIGN(const auto reader, EtReader::Open(one.path));
    if (reader->metadata().base_ns > kAbsoluteNs) {
      Add("absolute time", "header.attr.base_ns", std::to_string(reader->metadata().base_ns), 1);
    }
    facts_.AddRank(reader->metadata());
    ++report_.files;
    return ForEachRead<Node>(*reader, [this](const Node& node) -> Status {
      facts_.Add(node);
      return {};
    });
  }

  void Groups() {
    if (set_.classes) {
      for (const GroupRole& role : set_.classes->roles()) {
        Check("group id", role.role, 1);
        Check("group description", role.description, 1);
      }
      return;
    }
    for (const auto& [id, group] : set_.groups) {
      Check("group id", id, 1);
      Check("group description", group.description, 1);
    }
  }

  void Files() {
    std::set<std::string> expected = {kAnonymizedFile, kChecksumsFile};
    for (std::string& name : set_.FileNames()) {
      expected.insert(std::move(name));
    }
    if (set_.name != "trace") {
      Check("set name", set_.name, set_.RankCount());
    }
    std::error_code error;
    for (const fs::directory_entry& entry : fs::directory_iterator(set_.directory, error)) {
      if (const std::string name = entry.path().filename().string(); !expected.contains(name)) {
        Add("file that is no part of the set", "file name", name, 1);
      }
    }
    Note();
    Job();
    MadeFrom(kRescaledFile);
    MadeFrom(kTransformedFile);
  }

  // A JSON file of the set; nothing if there is none. What cannot be read is discarded, no object.
  [[nodiscard]] std::optional<nlohmann::json> JsonOf(const char* name) const {
    const fs::path path = fs::path(set_.directory) / name;
    std::error_code error;
    if (!fs::exists(fs::symlink_status(path, error))) {
      return std::nullopt;
    }
    return ParseJson<nlohmann::json>(ReadJsonText(path.string()).value_or(""), /*throws=*/false);
  }

  // Under which policy: what `reprise anonymize` writes, and nothing else.
  void Note() {
    const auto file = JsonOf(kAnonymizedFile);
    if (!file) {
      return;
    }
    // A note that is no object was not written by Reprise: the check below reports it.
    const nlohmann::json note = file->is_object() ? *file : nlohmann::json::object();
    const auto presets = PolicyPresets();
    const nlohmann::json name = note.contains("policy") && note["policy"].is_object()
                                    ? note["policy"].value("name", nlohmann::json())
                                    : nlohmann::json();
    const std::string policy = name.is_string() ? name.get<std::string>() : "";
    if (std::find(presets.begin(), presets.end(), policy) == presets.end()) {
      Check("policy name", policy.empty() ? "(none)" : policy, 1);
    }
    for (const auto& [key, value] : note.items()) {
      if (!IsOneOf(key, {"format", "policy", "durations", "shapes", "reprise_version"})) {
        Add("unknown field", kAnonymizedFile, key, 1);
      }
    }
  }

  // Of generated sets: sums, a format, a dtype, the name of a stack and a kind of models. Any other
  // text is looked at.
  void Job() {
    const auto job = JsonOf(kJobFile);
    if (!job) {
      return;
    }
    if (!job->is_object()) {
      Add("file that cannot be read", "file name", kJobFile, 1);
      return;
    }
    const nlohmann::json flat = job->flatten();  // items() refers to it
    for (const auto& [place, value] : flat.items()) {
      const bool known = (place == "/stack" || place == "/model") && value.is_string() &&
                         vocabulary_.IsHeaderText(value.get<std::string>());
      if (value.is_string() && place != "/format" && place != "/dtype" && !known) {
        Check(std::string(kJobFile) + place, value.get<std::string>(), 1);
      }
    }
  }

  // Of rescaled sets and of those that rules changed: numbers, the source's name and a hash of its
  // content; rules name what they are about.
  void MadeFrom(const char* name) {
    const auto file = JsonOf(name);
    if (!file) {
      return;
    }
    if (!file->is_object()) {
      Add("file that cannot be read", "file name", name, 1);
      return;
    }
    const nlohmann::json flat = file->flatten();  // items() refers to it
    for (const auto& [place, value] : flat.items()) {
      if (value.is_string() && place != "/format" && !IsHashOfContent(value.get<std::string>())) {
        Check(std::string(name) + place, value.get<std::string>(), 1);
      }
    }
  }

  // XXH3-128 (TraceSet::ContentHash).
  static bool IsHashOfContent(std::string_view text) {
    constexpr std::size_t kDigits = 32;
    return text.size() == kDigits &&
           text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
  }

  void Check(const std::string& field, const std::string& text, std::uint64_t count) {
    for (AuditFinding& finding : AuditText(vocabulary_, request_.local, field, text, count)) {
      report_.findings.push_back(std::move(finding));
    }
  }

  void Add(std::string kind, std::string field, std::string text, std::uint64_t count) {
    report_.findings.push_back({std::move(kind), std::move(field), std::move(text), count});
  }

  const AuditRequest& request_;
  const TraceSet& set_;
  const Vocabulary& vocabulary_;
  ShapeFacts facts_;
  AuditReport report_;
};

}  // namespace

std::vector<AuditFinding> AuditText(const Vocabulary& vocabulary, const LocalNames& local,
                                    const std::string& field, const std::string& text,
                                    std::uint64_t count) {
  std::vector<AuditFinding> findings;
  if (MayStand(vocabulary, field, text)) {
    return findings;
  }
  bool secret = false;
  for (Discovery& discovery : ScanText(text, local)) {
    secret = secret || discovery.kind == "secret";
    findings.push_back({std::string(discovery.kind), field, std::move(discovery.excerpt), count});
  }
  findings.push_back({"private name", field, secret ? "(holds a secret)" : text, count});
  return findings;
}

Result<AuditReport> AuditSet(const AuditRequest& request) {
  REPRISE_ASSIGN(const TraceSet set, TraceSet::OpenPresent(request.directory));
  REPRISE_ASSIGN(const Vocabulary vocabulary, Vocabulary::Create(request.public_names));
  return Auditor(request, set, vocabulary).Run();
}

}  // namespace reprise
