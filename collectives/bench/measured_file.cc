#include "collectives/bench/measured_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "core/input_file.h"
#include "core/json_fields.h"
#include "core/parse_json.h"
#include "core/temporary_output.h"

namespace reprise {

REPRISE_JSON_FIELDS(MeasuredMachine, mpi, processor, cores, ranks_per_host, hosts)

namespace {

constexpr const char* kMark = "reprise_collectives";
constexpr int kVersion = 1;
constexpr std::size_t kMostMachines = 64;

struct Entry {
  MeasuredMachine machine;
  MeasuredTable table;
};

MeasuredMachine ParseMachine(const Json& json) {
  return {.mpi = json.at("mpi").get<std::string>(),
          .processor = json.at("processor").get<std::string>(),
          .cores = json.at("cores").get<int>(),
          .ranks_per_host = json.at("ranks_per_host").get<int>(),
          .hosts = json.at("hosts").get<std::vector<std::string>>()};
}

Result<Entry> ParseEntry(const Json& json) {
  Entry entry{.machine = ParseMachine(json.at("machine")), .table = {}};
  for (const Json& row : json.at("measured")) {
    const auto name = row.at("kind").get<std::string>();
    const auto kind = ParseCommKind(name);
    if (!kind || Name(*kind) != name) {
      return BadInput(fmt::format("'{}' is no collective", name));
    }
    MeasuredAlgorithm measured{.algorithm = row.at("algorithm").get<std::string>(),
                               .time_ns = row.at("time_ns").get<std::int64_t>(),
                               .mpi_ns = row.at("mpi_ns").get<std::int64_t>()};
    REPRISE_TRY(ParseAlgorithm(measured.algorithm));
    entry.table[{.kind = *kind,
                 .members = row.at("members").get<int>(),
                 .hosts = row.at("hosts").get<int>(),
                 .bytes = row.at("bytes").get<std::int64_t>()}] = std::move(measured);
  }
  return entry;
}

Json JsonOf(const Entry& entry) {
  Json rows = Json::array();
  for (const auto& [of, measured] : entry.table) {
    Json row;
    REPRISE_ADD_FIELDS(row, of, kind, members, hosts, bytes)
    REPRISE_ADD_FIELDS(row, measured, algorithm, time_ns, mpi_ns)
    rows.push_back(std::move(row));
  }
  return {{"machine", entry.machine}, {"measured", std::move(rows)}};
}

// Newest last.
Result<std::vector<Entry>> ReadAll(const std::string& path) {
  std::vector<Entry> entries;
  std::error_code error;
  if (!std::filesystem::exists(path, error)) {
    return entries;
  }
  REPRISE_ASSIGN(const std::string text, ReadJsonText(path));
  const auto refuse = [&](std::string_view why) {
    return BadInput(fmt::format("{}: {}; remove it, and it is measured again", path, why));
  };
  try {
    const Json json = ParseJson<Json>(text);
    if (!json.is_object() || !json.contains(kMark) || json.at(kMark) != kVersion) {
      return refuse(fmt::format("not measured collectives of version {}", kVersion));
    }
    for (const Json& one : json.at("machines")) {
      Result<Entry> entry = ParseEntry(one);
      if (!entry) {
        return refuse(entry.error().message);
      }
      entries.push_back(std::move(*entry));
    }
  } catch (const Json::exception& thrown) {
    return refuse(thrown.what());
  }
  return entries;
}

}  // namespace

Result<MeasuredTable> ReadMeasured(const std::string& path, const MeasuredMachine& machine) {
  REPRISE_ASSIGN(std::vector<Entry> entries, ReadAll(path));
  const auto it = std::ranges::find(entries, machine, &Entry::machine);
  return it == entries.end() ? MeasuredTable() : std::move(it->table);
}

Status KeepMeasured(const std::string& path, const MeasuredMachine& machine,
                    const MeasuredTable& table) {
  REPRISE_ASSIGN(std::vector<Entry> entries, ReadAll(path));
  Entry entry{.machine = machine, .table = table};
  if (const auto it = std::ranges::find(entries, machine, &Entry::machine); it != entries.end()) {
    entry.table.merge(it->table);  // what is there already stays
    entries.erase(it);
  }
  if (entries.size() >= kMostMachines) {
    entries.erase(entries.begin());
  }
  entries.push_back(std::move(entry));
  Json machines = Json::array();
  for (const Entry& one : entries) {
    machines.push_back(JsonOf(one));
  }
  REPRISE_ASSIGN(TemporaryOutput output, TemporaryOutput::File(path));
  std::ofstream file(output.path());
  file << Json{{kMark, kVersion}, {"machines", std::move(machines)}}.dump(2) << "\n";
  file.close();
  if (!file) {
    return EnvironmentError(fmt::format("{} cannot be written", output.path()));
  }
  return output.Publish();
}

}  // namespace reprise
