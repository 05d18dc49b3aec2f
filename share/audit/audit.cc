#include "share/audit/audit.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "core/for_each_read.h"
#include "core/input_file.h"
#include "core/operators.h"
#include "core/output_kind.h"
#include "core/parse_json.h"
#include "core/text.h"
#include "et_schema/io.h"
#include "et_schema/trace_set.h"
#include "share/anonymize/anonymize.h"
#include "share/anonymize/keyed_hash.h"
#include "share/anonymize/placement_text.h"
#include "share/anonymize/vocabulary.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;

bool IsCounterName(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; });
}

bool IsOneOf(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), text) != words.end();
}

// Whether a text may stand in that field of a set that is to be shared.
class PublicTexts {
 public:
  explicit PublicTexts(const Vocabulary& vocabulary) : vocabulary_(vocabulary) {}

  [[nodiscard]] bool Allows(std::string_view field, std::string_view text) const {
    if (text.empty() || IsHashedName(text)) {
      return true;
    }
    for (const Rule& rule : kRules) {
      if (rule.field == field) {
        return (this->*rule.allows)(text);
      }
    }
    return false;
  }

 private:
  struct Rule {
    std::string_view field;
    bool (PublicTexts::*allows)(std::string_view) const;
  };
  // Names, kernels as anonymize leaves them, and the classes that policies put in their place.
  [[nodiscard]] bool IsName(std::string_view text) const {
    return vocabulary_.IsName(text) || vocabulary_.PublicKernel(text) == text ||
           ParseOpClass(text) || IsCommKind(text);
  }
  [[nodiscard]] bool IsCommKind(std::string_view text) const {
    const auto kind = ParseCommKind(text);
    return kind && Name(*kind) == text;
  }
  // "aten::add.Tensor(…) -> …"
  [[nodiscard]] bool IsSchema(std::string_view text) const {
    return vocabulary_.IsName(text.substr(0, text.find_first_of(".(")));
  }
  [[nodiscard]] bool IsArgument(std::string_view text) const {
    return vocabulary_.IsString(text) || ParseDevice(text) || text == "<None>";
  }
  [[nodiscard]] bool IsHeaderText(std::string_view text) const {
    return vocabulary_.IsHeaderText(text);
  }
  [[nodiscard]] bool IsHardware(std::string_view text) const {
    return vocabulary_.IsHardware(text);
  }
  [[nodiscard]] bool IsHost(std::string_view text) const { return IsNumberedHost(text); }
  [[nodiscard]] bool IsPlacement(std::string_view text) const { return IsPlacementText(text); }
  [[nodiscard]] bool IsCounter(std::string_view text) const { return IsCounterName(text); }
  // A number, or a role of generated groups.
  [[nodiscard]] bool IsGroup(std::string_view text) const {
    return IsNumber(text) || IsHeaderText(text);
  }
  [[nodiscard]] bool IsKind(std::string_view text) const { return ParseOpKind(text).has_value(); }
  [[nodiscard]] bool IsClass(std::string_view text) const { return ParseOpClass(text).has_value(); }
  [[nodiscard]] bool IsActor(std::string_view text) const {
    return IsOneOf(text, {"thread", "stream", "group"});
  }
  [[nodiscard]] bool IsDtype(std::string_view text) const {
    return text == "unknown" || ParseDType(text) != DType::kUnknown;
  }
  [[nodiscard]] bool IsReduceOp(std::string_view text) const {
    return ParseReduceOp(text).has_value();
  }
  [[nodiscard]] bool IsCertainty(std::string_view text) const {
    return ParseGroupCertainty(text).has_value();
  }
  [[nodiscard]] bool IsLink(std::string_view text) const {
    return IsOneOf(text, {"record function id", "alignment", "only one", "sequence numbers",
                          "best match", "last", "median"});
  }

  static constexpr Rule kRules[] = {
      {"node.name", &PublicTexts::IsName},
      {"node.attr.parent", &PublicTexts::IsName},
      {"node.attr.op", &PublicTexts::IsName},
      {"node.attr.op_schema", &PublicTexts::IsSchema},
      {"node.attr.pg_name", &PublicTexts::IsGroup},
      {"node.attr.op_kind", &PublicTexts::IsKind},
      {"node.attr.op_class", &PublicTexts::IsClass},
      {"node.attr.actor", &PublicTexts::IsActor},
      {"node.attr.comm_dtype", &PublicTexts::IsDtype},
      {"node.attr.comm_reduce_op", &PublicTexts::IsReduceOp},
      {"node.attr.comm_certainty", &PublicTexts::IsCertainty},
      {"node.inputs.values", &PublicTexts::IsArgument},
      {"node.outputs.values", &PublicTexts::IsArgument},
      {"header.version", &PublicTexts::IsHeaderText},
      {"header.attr.source", &PublicTexts::IsHeaderText},
      {"header.attr.machine_processor", &PublicTexts::IsHardware},
      {"header.attr.machine_device", &PublicTexts::IsHardware},
      {"header.attr.machine_framework", &PublicTexts::IsHardware},
      {"header.attr.placement_host", &PublicTexts::IsHost},
      {"header.attr.placement_process_numa_nodes", &PublicTexts::IsPlacement},
      {"header.attr.placement_memory_numa_nodes", &PublicTexts::IsPlacement},
      {"header.attr.placement_link_kind", &PublicTexts::IsPlacement},
      {"header.attr.step_names", &PublicTexts::IsName},
      {"header.attr.range_names", &PublicTexts::IsName},
      {"header.attr.diagnostics_names", &PublicTexts::IsCounter},
      {"header.attr.link_method", &PublicTexts::IsLink},
      {"header.attr.link_choice", &PublicTexts::IsLink},
      {"group id", &PublicTexts::IsGroup},
      {"group description", &PublicTexts::IsHeaderText},
      {"set name", &PublicTexts::IsHeaderText},
  };
  const Vocabulary& vocabulary_;
};

class Auditor {
 public:
  Auditor(const AuditRequest& request, const TraceSet& set, const Vocabulary& vocabulary)
      : request_(request), set_(set), public_(vocabulary) {}

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
    // Times since 1970 are beyond 2^60 ns; a set's own begin at 0.
    constexpr std::int64_t kAbsoluteNs = std::int64_t{1} << 55;
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
      Check("set name", set_.name, set_.files.size());
    }
    std::error_code error;
    for (const fs::directory_entry& entry : fs::directory_iterator(set_.directory, error)) {
      if (const std::string name = entry.path().filename().string(); !expected.contains(name)) {
        Add("file that is no part of the set", "file name", name, 1);
      }
    }
    Note();
    Job();
  }

  // Under which policy: what `reprise anonymize` writes, and nothing else.
  void Note() {
    const fs::path path = fs::path(set_.directory) / kAnonymizedFile;
    std::error_code error;
    if (!fs::exists(fs::symlink_status(path, error))) {
      return;
    }
    // What cannot be read is no note of ours: it is found below.
    const auto text = ReadJsonText(path.string());
    const nlohmann::json note = ParseJson<nlohmann::json>(text.value_or(""), /*throws=*/false);
    const auto presets = PolicyPresets();
    const std::string policy =
        note.is_object() && note.contains("policy") && note["policy"].is_object()
            ? note["policy"].value("name", "")
            : "";
    if (std::find(presets.begin(), presets.end(), policy) == presets.end()) {
      Check("policy name", policy.empty() ? "(none)" : policy, 1);
    }
    const nlohmann::json empty = nlohmann::json::object();
    for (const auto& [key, value] : (note.is_object() ? note : empty).items()) {
      if (!IsOneOf(key, {"format", "policy", "durations", "shapes", "reprise_version"})) {
        Add("unknown field", kAnonymizedFile, key, 1);
      }
    }
  }

  // Of generated sets: sums, a format and a dtype. Any other text is looked at.
  void Job() {
    const fs::path path = fs::path(set_.directory) / kJobFile;
    std::error_code error;
    if (!fs::exists(fs::symlink_status(path, error))) {
      return;
    }
    const auto text = ReadJsonText(path.string());
    const nlohmann::json job = ParseJson<nlohmann::json>(text.value_or(""), /*throws=*/false);
    if (!job.is_object()) {
      Add("file that cannot be read", "file name", kJobFile, 1);
      return;
    }
    const nlohmann::json flat = job.flatten();  // items() refers to it
    for (const auto& [place, value] : flat.items()) {
      if (value.is_string() && place != "/format" && place != "/dtype") {
        Check(std::string(kJobFile) + place, value.get<std::string>(), 1);
      }
    }
  }

  void Check(const std::string& field, const std::string& text, std::uint64_t count) {
    if (public_.Allows(field, text)) {
      return;
    }
    bool secret = false;
    for (Discovery& discovery : ScanText(text, request_.local)) {
      secret = secret || discovery.kind == "secret";
      Add(std::string(discovery.kind), field, std::move(discovery.excerpt), count);
    }
    Add("private name", field, secret ? "(holds a secret)" : text, count);
  }

  void Add(std::string kind, std::string field, std::string text, std::uint64_t count) {
    report_.findings.push_back({std::move(kind), std::move(field), std::move(text), count});
  }

  const AuditRequest& request_;
  const TraceSet& set_;
  PublicTexts public_;
  ShapeFacts facts_;
  AuditReport report_;
};

}  // namespace

Result<AuditReport> AuditSet(const AuditRequest& request) {
  REPRISE_ASSIGN(const TraceSet set, TraceSet::OpenPresent(request.directory));
  REPRISE_ASSIGN(const Vocabulary vocabulary, Vocabulary::Create(request.public_names));
  return Auditor(request, set, vocabulary).Run();
}

}  // namespace reprise
