#include "converters/anonymize/anonymize.h"

#include <fmt/format.h>
#include <oneapi/tbb/parallel_for.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "converters/output_files.h"
#include "core/version.h"
#include "et_schema/io.h"
#include "et_schema/trace_set.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;

// Ids become numbers in the order of the old ones. "0" stays: simulators take it for all ranks.
std::map<std::string, std::string> NewGroupIds(const TraceSet& set) {
  std::map<std::string, std::string> ids;
  int next = 1;
  for (const auto& [id, group] : set.groups) {
    ids[id] = id == "0" ? id : std::to_string(next++);
  }
  return ids;
}

std::map<std::string, ProcessGroup> NewGroups(const TraceSet& set, const AnonymizerSetting& setting,
                                              FieldTally& tally) {
  const auto take = [&](Field field) {
    const Action action = setting.policy.Of(field);
    ++tally.counts[static_cast<std::size_t>(field)][static_cast<std::size_t>(action)];
    return action;
  };
  std::map<std::string, ProcessGroup> groups;
  for (const auto& [old_id, group] : set.groups) {
    const std::string& id =
        take(Field::kPgName) == Action::kKeep ? old_id : setting.groups.at(old_id);
    take(Field::kGroupRanks);
    ProcessGroup& to = groups[id] = {.id = id, .ranks = group.ranks};
    if (!group.description.empty()) {
      const Action action = take(Field::kGroupDescription);
      to.description = action == Action::kKeep  ? group.description
                       : action == Action::kMap ? setting.hash.Name("text", group.description)
                                                : std::string();
    }
  }
  return groups;
}

// The earliest base of the set, on the clock on which the new bases will be.
Result<std::int64_t> OriginNs(const TraceSet& set, const Policy& policy) {
  const bool folded = policy.Of(Field::kClock) == Action::kMap;
  std::int64_t origin_ns = std::numeric_limits<std::int64_t>::max();
  for (const auto& [rank, path] : set.files) {
    REPRISE_ASSIGN(const auto reader, EtReader::Open(path));
    const TraceMetadata& metadata = reader->metadata();
    origin_ns = std::min(origin_ns, metadata.base_ns + (folded ? metadata.clock_offset_ns : 0));
  }
  return origin_ns;
}

Result<AnonymizerSetting> MakeSetting(const AnonymizeRequest& request, const TraceSet& set) {
  REPRISE_ASSIGN(KeyedHash hash, request.salt_file.empty()
                                     ? KeyedHash::Random()
                                     : KeyedHash::FromFile(request.salt_file));
  REPRISE_ASSIGN(Vocabulary vocabulary, Vocabulary::Create(request.public_names));
  REPRISE_ASSIGN(const std::int64_t origin_ns, OriginNs(set, request.policy));
  return AnonymizerSetting{.policy = request.policy,
                           .vocabulary = std::move(vocabulary),
                           .hash = hash,
                           .times = TimeMap(request.policy.durations, hash),
                           .sizes = SizeMap(request.policy.shapes, hash),
                           .groups = NewGroupIds(set),
                           .origin_ns = origin_ns};
}

struct RankResult {
  Status status;
  std::uint64_t nodes = 0;
  FieldTally fields;
  Diagnostics unknown;
};

Status AnonymizeRank(const AnonymizerSetting& setting, const std::string& from,
                     const std::string& to, RankResult& result) {
  REPRISE_ASSIGN(const RankRenaming renaming, RankRenaming::Read(from));
  Anonymizer anonymizer(setting, renaming);
  REPRISE_ASSIGN(const auto writer, EtWriter::Create(to, anonymizer.Header()));
  REPRISE_ASSIGN(const auto reader, EtReader::Open(from));
  Node node;
  for (;;) {
    REPRISE_ASSIGN(const bool more, reader->Next(node));
    if (!more) {
      break;
    }
    REPRISE_TRY(writer->Write(anonymizer.Apply(node)));
  }
  result.nodes = renaming.nodes;
  result.fields = anonymizer.tally();
  result.unknown = renaming.diagnostics;
  return writer->Close();
}

Status WriteNote(const std::string& path, const AnonymizeRequest& request) {
  const nlohmann::ordered_json note = {
      {"format", "reprise-anonymized-1"},
      {"policy", {{"name", request.policy.name}, {"sha256", request.policy.sha256}}},
      {"durations", Name(request.policy.durations)},
      {"shapes", Name(request.policy.shapes)},
      {"reprise_version", kVersion}};
  std::ofstream out(path, std::ios::binary);
  out << note.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) << "\n";
  return out.flush() ? Status{} : EnvironmentError(fmt::format("{}: cannot be written", path));
}

}  // namespace

Result<AnonymizeReport> AnonymizeSet(const AnonymizeRequest& request) {
  std::error_code error;
  if (fs::equivalent(request.input_directory, request.output_directory, error)) {
    return UsageError(fmt::format("{} is the set itself; give another directory for the result",
                                  request.output_directory));
  }
  REPRISE_ASSIGN(const TraceSet set, TraceSet::OpenPresent(request.input_directory));
  REPRISE_TRY(set.CheckRankByRank("anonymize"));
  const bool named = request.policy.Of(Field::kSetName) == Action::kKeep;
  REPRISE_ASSIGN(
      OutputFiles output,
      OutputFiles::Directory(request.output_directory, named ? set.name : "trace", request.force));
  REPRISE_ASSIGN(const AnonymizerSetting setting, MakeSetting(request, set));
  const std::vector<std::pair<std::int32_t, std::string>> files(set.files.begin(), set.files.end());
  std::vector<RankResult> results(files.size());
  oneapi::tbb::parallel_for(std::size_t{0}, files.size(), [&](std::size_t i) {
    const auto& [rank, path] = files[i];
    results[i].status = AnonymizeRank(setting, path, output.Temporary(rank), results[i]);
  });
  AnonymizeReport report;
  for (std::size_t i = 0; i < files.size(); ++i) {
    REPRISE_TRY(results[i].status);
    report.ranks.push_back({files[i].first, output.Final(files[i].first), results[i].nodes});
    report.fields.Add(results[i].fields);
    report.unknown.Merge(results[i].unknown);
  }
  const auto groups = NewGroups(set, setting, report.fields);
  const fs::path temporary = fs::path(output.Temporary(files.front().first)).parent_path();
  REPRISE_TRY(WriteNote((temporary / kAnonymizedFile).string(), request));
  REPRISE_TRY(output.Publish(groups));
  return report;
}

}  // namespace reprise
