#include "converters/share/anonymize/anonymize.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "converters/output_files.h"
#include "core/checksums.h"
#include "core/for_each_read.h"
#include "core/output_kind.h"
#include "core/parallel.h"
#include "core/stored_values.h"
#include "core/temporary_output.h"
#include "core/version.h"
#include "et_schema/io.h"
#include "et_schema/trace_set.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;

// Ids become numbers in the order of the old ones. "0" stays: simulators take it for all ranks.
// A folded set names the roles of groups in their place.
std::map<std::string, std::string> NewGroupIds(const TraceSet& set) {
  std::map<std::string, std::string> ids;
  int next = 1;
  if (set.classes) {
    for (const GroupRole& role : set.classes->roles()) {
      ids[role.role] = std::to_string(next++);
    }
    return ids;
  }
  for (const auto& [id, group] : set.groups) {
    ids[id] = id == "0" ? id : std::to_string(next++);
  }
  return ids;
}

class GroupNames {
 public:
  GroupNames(const AnonymizerSetting& setting, FieldTally& tally)
      : setting_(setting), tally_(tally) {}

  [[nodiscard]] std::string Id(const std::string& old_id) const {
    const bool kept = Take(Field::kPgName) == Action::kKeep;
    Take(Field::kGroupRanks);
    return kept ? old_id : setting_.groups.at(old_id);
  }
  [[nodiscard]] std::string Description(const std::string& description) const {
    if (description.empty()) {
      return {};
    }
    const Action action = Take(Field::kGroupDescription);
    return action == Action::kKeep  ? description
           : action == Action::kMap ? setting_.hash.Name("text", description)
                                    : std::string();
  }

 private:
  Action Take(Field field) const { return tally_.Take(setting_.policy, field); }
  const AnonymizerSetting& setting_;
  FieldTally& tally_;
};

std::map<std::string, ProcessGroup> NewGroups(const TraceSet& set, const GroupNames& names) {
  std::map<std::string, ProcessGroup> groups;
  for (const auto& [old_id, group] : set.groups) {
    const std::string id = names.Id(old_id);
    groups[id] = {
        .id = id, .description = names.Description(group.description), .ranks = group.ranks};
  }
  return groups;
}

// The same classes and groups under the new names; `files` by class.
Result<RankClasses> NewClasses(const RankClasses& classes, const std::vector<std::string>& files,
                               const GroupNames& names) {
  std::vector<RankClass> renamed = classes.classes();
  for (std::size_t i = 0; i < renamed.size(); ++i) {
    renamed[i].file = fs::path(files[i]).filename().string();
  }
  std::vector<GroupRole> roles = classes.roles();
  for (GroupRole& role : roles) {
    role.role = names.Id(role.role);
    role.description = names.Description(role.description);
  }
  return RankClasses::Create(classes.world_size(), std::move(renamed), std::move(roles));
}

// What the first look at a rank's file says for all.
struct RankHeader {
  std::int64_t base_ns = 0, clock_offset_ns = 0;
  std::string host;
};

Result<std::vector<RankHeader>> ReadHeaders(const std::vector<TraceSet::DistinctRank>& files,
                                            Processes& processes) {
  std::vector<RankHeader> headers(files.size());
  const ItemRange own = OwnShare(processes, files.size());
  Status read;
  for (std::size_t i = own.begin; i < own.end && read; ++i) {
    read = [&]() -> Status {
      REPRISE_ASSIGN(const auto reader, EtReader::Open(files[i].path));
      const TraceMetadata& metadata = reader->metadata();
      headers[i] = {metadata.base_ns, metadata.clock_offset_ns, metadata.placement.host};
      return {};
    }();
  }
  REPRISE_TRY(CompleteShares(processes, read, headers));
  return headers;
}

// Hosts become numbers in the order of their first ranks.
std::map<std::string, std::string> NewHosts(const std::vector<RankHeader>& headers) {
  std::map<std::string, std::string> hosts;
  for (const RankHeader& header : headers) {
    if (!header.host.empty()) {
      hosts.try_emplace(header.host, NumberedHost(hosts.size()));
    }
  }
  return hosts;
}

// The earliest base of the set, on the clock on which the new bases will be.
std::int64_t OriginNs(const std::vector<RankHeader>& headers, const Policy& policy) {
  const bool folded = policy.Of(Field::kClock) == Action::kMap;
  std::int64_t origin_ns = std::numeric_limits<std::int64_t>::max();
  for (const RankHeader& header : headers) {
    origin_ns = std::min(origin_ns, header.base_ns + (folded ? header.clock_offset_ns : 0));
  }
  return origin_ns;
}

// The first process finds the salt, or makes it.
Result<KeyedHash> HashOfAll(const AnonymizeRequest& request, Processes& processes) {
  Result<std::string> secret;
  if (processes.first()) {
    const Result<KeyedHash> hash =
        request.salt_file.empty() ? KeyedHash::Random() : KeyedHash::FromFile(request.salt_file);
    secret = hash ? Result<std::string>(hash->Secret()) : tl::unexpected<Error>(hash.error());
  }
  REPRISE_ASSIGN(const std::vector<std::string> told, processes.Exchange(secret));
  return KeyedHash::FromSecret(told.front());
}

Result<AnonymizerSetting> MakeSetting(const AnonymizeRequest& request, const TraceSet& set,
                                      Processes& processes) {
  REPRISE_ASSIGN(KeyedHash hash, HashOfAll(request, processes));
  REPRISE_ASSIGN(Vocabulary vocabulary, Vocabulary::Create(request.public_names));
  REPRISE_ASSIGN(const std::vector<RankHeader> headers,
                 ReadHeaders(set.DistinctRanks(), processes));
  return AnonymizerSetting{.policy = request.policy,
                           .vocabulary = std::move(vocabulary),
                           .hash = hash,
                           .times = TimeMap(request.policy.durations, hash),
                           .sizes = SizeMap(request.policy.shapes, hash),
                           .groups = NewGroupIds(set),
                           .hosts = NewHosts(headers),
                           .origin_ns = OriginNs(headers, request.policy)};
}

struct RankResult {
  ConvertedRank written;
  FieldTally fields;
  std::map<std::string, Diagnostics::Counter> unknown;
};

Status AnonymizeRank(const AnonymizerSetting& setting, const TraceSet::DistinctRank& rank,
                     const std::string& to, RankResult& result) {
  REPRISE_ASSIGN(const RankRenaming renaming, RankRenaming::Read(rank.file));
  // What is wrong would be as wrong in the result, under other numbers.
  if (const ValidationReport report = ValidateFile(rank.path); !report.errors.empty()) {
    return BadInput(fmt::format("{}; not anonymized: `reprise validate` shows all that is wrong",
                                report.errors.front()));
  }
  Anonymizer anonymizer(setting, renaming);
  REPRISE_ASSIGN(const auto writer, EtWriter::Create(to, anonymizer.Header()));
  REPRISE_ASSIGN(const auto reader, EtReader::OpenAsItStands(rank.file));
  REPRISE_TRY(ForEachRead<Node>(
      *reader, [&](const Node& node) { return writer->Write(anonymizer.Apply(node)); }));
  result.written.nodes = renaming.nodes;
  result.fields = anonymizer.tally();
  result.unknown = renaming.diagnostics.Snapshot();
  return writer->Close();
}

ResumableJob JobOf(const AnonymizeRequest& request) {
  return {.command = "anonymize",
          .options = {
              {"trace set", request.input_directory},
              {"--policy", fmt::format("{} ({:.12})", request.policy.name, request.policy.sha256)},
              {"--durations", Name(request.policy.durations)},
              {"--shapes", Name(request.policy.shapes)},
              {"--public-names", request.public_names}}};
}

// What a rank's result depends on beside its own file.
Result<std::string> KeyOfSetting(const AnonymizeRequest& request, const AnonymizerSetting& setting,
                                 const TraceSet& set) {
  std::string key = setting.hash.Name("salt", "");
  if (request.resume && !request.public_names.empty()) {
    REPRISE_ASSIGN(const std::string names, ChecksumOf(request.public_names));
    key += names;
  }
  ValueWriter write(key);
  write(setting.groups);
  write(setting.hosts);
  write(setting.origin_ns);
  for (const std::string& name : set.folded ? set.RankFileNames() : std::vector<std::string>()) {
    key += StateOfFile((fs::path(set.directory) / name).string());
  }
  return ChecksumOfBytes(key);
}

// As AnonymizeRank, or what an earlier run has made of the same.
Status AnonymizeOrTakeUp(const AnonymizerSetting& setting, const std::string& key,
                         const TraceSet::DistinctRank& rank, OutputFiles& output,
                         RankResult& result) {
  const std::int32_t number = result.written.rank;
  KeptWork* const kept = output.kept();
  if (kept == nullptr) {
    return AnonymizeRank(setting, rank, output.Temporary(number), result);
  }
  const std::string whole_key = fmt::format("{}\n{}\n{}", key, rank.rank, StateOfFile(rank.file));
  if (const auto bytes = kept->TakeUp(output.NameOf(number), whole_key)) {
    RankResult known;
    ValueReader read(*bytes, TextsRead::kAsWritten);
    read(known);
    if (read.AtEnd()) {
      known.written.path = result.written.path;
      known.written.taken_up = true;
      result = std::move(known);
      return {};
    }
  }
  REPRISE_TRY(AnonymizeRank(setting, rank, output.Temporary(number), result));
  std::string bytes;
  ValueWriter write(bytes);
  write(result);
  return kept->KeepMade(output.NameOf(number), whole_key, bytes);
}

Status WriteNote(const std::string& path, const AnonymizeRequest& request) {
  const nlohmann::ordered_json note = {
      {"format", "reprise-anonymized-1"},
      {"policy", {{"name", request.policy.name}, {"sha256", request.policy.sha256}}},
      {"durations", Name(request.policy.durations)},
      {"shapes", Name(request.policy.shapes)},
      {"reprise_version", kVersion}};
  return WriteTextFile(
      path, note.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
}

}  // namespace

Result<AnonymizeReport> AnonymizeSet(const AnonymizeRequest& request) {
  REPRISE_TRY(CheckIsAnother(request.input_directory, request.output_directory));
  REPRISE_ASSIGN(const TraceSet set, TraceSet::OpenPresent(request.input_directory));
  if (set.classes && !request.processes->first()) {
    return AnonymizeReport{};
  }
  Processes& processes = set.classes ? OneProcess() : *request.processes;
  const bool named = request.policy.Of(Field::kSetName) == Action::kKeep;
  const std::string name = named ? set.name : "trace";
  const std::vector<TraceSet::DistinctRank> files = set.DistinctRanks();
  // Its rank's, or its class's.
  const auto number = [&set](const TraceSet::DistinctRank& file) {
    return set.classes ? static_cast<std::int32_t>(set.classes->IndexOf(file.rank)) : file.rank;
  };
  std::vector<std::int32_t> numbers(files.size());
  std::ranges::transform(files, numbers.begin(), number);
  REPRISE_ASSIGN(
      OutputFiles output,
      request.resume
          ? OutputFiles::Resumable(request.output_directory, name, request.force,
                                   set.classes != nullptr, JobOf(request), numbers, processes)
      : set.classes
          ? OutputFiles::FoldedDirectory(request.output_directory, name, request.force)
          : OutputFiles::Directory(request.output_directory, name, request.force, processes));
  REPRISE_ASSIGN(const AnonymizerSetting setting, MakeSetting(request, set, processes));
  REPRISE_ASSIGN(const std::string key, KeyOfSetting(request, setting, set));
  std::vector<RankResult> results(files.size());
  const ItemRange own = OwnShare(processes, files.size());
  std::vector<Status> outcomes(own.size());
  ForEachInParallel(own.size(), [&](std::size_t i) {
    const TraceSet::DistinctRank& file = files[own.begin + i];
    RankResult& result = results[own.begin + i];
    result.written.rank = number(file);
    result.written.path = output.Final(number(file));
    outcomes[i] = AnonymizeOrTakeUp(setting, key, file, output, result);
  });
  const auto failed = std::ranges::find_if(outcomes, [](const Status& of) { return !of; });
  REPRISE_TRY(CompleteShares(processes, failed == outcomes.end() ? Status() : *failed, results));
  AnonymizeReport report;
  std::vector<ConvertedRank> written;
  for (std::size_t i = 0; i < files.size(); ++i) {
    report.ranks.push_back(
        {files[i].rank, files[i].alike, results[i].written.path, results[i].written.nodes});
    report.fields.Add(results[i].fields);
    report.unknown.Merge(Diagnostics(results[i].unknown));
    written.push_back(std::move(results[i].written));
  }
  const GroupNames names(setting, report.fields);
  report.resumed = output.Resumed(written);
  const Status noted =
      processes.first() ? WriteNote(output.TemporaryNote(kAnonymizedFile), request) : Status();
  if (!set.classes) {
    REPRISE_TRY(output.PublishTogether(noted, written, NewGroups(set, names), processes));
    return report;
  }
  REPRISE_TRY(noted);
  std::vector<std::string> class_files;
  for (std::size_t i = 0; i < set.classes->classes().size(); ++i) {
    class_files.push_back(output.Final(static_cast<std::int32_t>(i)));
  }
  REPRISE_ASSIGN(const RankClasses classes, NewClasses(*set.classes, class_files, names));
  REPRISE_TRY(output.Publish(classes));
  return report;
}

}  // namespace reprise
