#include "converters/nccl_inspector/inspector_ranks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

#include "converters/comm_sizes.h"
#include "core/shown_text.h"
#include "core/text.h"

namespace reprise::nccl_inspector {
namespace {

using recorded_transfers::RecordedGroup;
using recorded_transfers::RecordedRank;
using recorded_transfers::RecordedTransfer;

// A device of a process: its file, and its number among those of the process.
using Device = std::pair<std::size_t, std::size_t>;

struct Communicator {
  std::string name;
  std::int32_t members = 0;
  std::map<std::int32_t, std::size_t> file_of;  // by rank in it
};

class RankAssignment {
 public:
  RankAssignment(const std::vector<InspectorFile>& files, bool whole_job)
      : files_(files), whole_job_(whole_job) {}

  Result<std::vector<RecordedRank>> Run() {
    REPRISE_TRY(FindCommunicators());
    if (whole_job_) {
      REPRISE_TRY(CheckComplete());
      REPRISE_TRY(CheckJoined());
    }
    FindDevices();
    REPRISE_TRY(NumberDevices());
    AddGroups();
    for (std::size_t f = 0; f < files_.size(); ++f) {
      REPRISE_TRY(AddTransfers(f));
    }
    std::vector<RecordedRank> out;
    for (auto& [device, rank] : ranks_) {
      out.push_back(std::move(rank));
    }
    return out;
  }

 private:
  Status FindCommunicators() {
    for (std::size_t f = 0; f < files_.size(); ++f) {
      if (files_[f].version != files_.front().version) {
        return BadInput(fmt::format(
            "{} and {}: of two jobs: versions {} and {}; give the files of "
            "one job",
            files_.front().path, files_[f].path, files_.front().version, files_[f].version));
      }
      for (const auto& [id, known] : files_[f].communicators) {
        Communicator& communicator = communicators_[id];
        if (communicator.members > 0 && communicator.members != known.members) {
          return BadInput(fmt::format("{}: communicator {} has {} ranks here, and {} in others",
                                      files_[f].path, ShownText(id), known.members,
                                      communicator.members));
        }
        communicator.members = known.members;
        communicator.name = known.name.empty() ? communicator.name : known.name;
      }
      std::set<std::pair<std::string, std::int32_t>> seen;
      for (const InspectorRecord& record : files_[f].records) {
        if (!seen.emplace(record.communicator, record.rank).second) {
          continue;
        }
        const auto [at, added] =
            communicators_[record.communicator].file_of.try_emplace(record.rank, f);
        if (!added && at->second != f) {
          return BadInput(
              fmt::format("{} and {}: both are rank {} of communicator {}; give the files of one "
                          "job, each once",
                          files_[at->second].path, files_[f].path, record.rank,
                          ShownText(record.communicator)));
        }
      }
    }
    return {};
  }

  Status CheckComplete() const {
    for (const auto& [id, communicator] : communicators_) {
      const auto found = static_cast<std::int32_t>(communicator.file_of.size());
      if (found == 0 || found == communicator.members) {
        continue;
      }
      std::set<std::int32_t> missing;
      constexpr std::size_t kMostNamed = 1024;
      for (std::int32_t r = 0; r < communicator.members && missing.size() < kMostNamed; ++r) {
        if (!communicator.file_of.contains(r)) {
          missing.insert(r);
        }
      }
      return BadInput(fmt::format(
          "no file of rank{} {} of communicator {}: it has {} ranks, those of {} are in the files "
          "(as {}); copy the missing files there, or convert one file",
          missing.size() == 1 ? "" : "s", NumbersText(missing), ShownText(id), communicator.members,
          found, files_[communicator.file_of.begin()->second].path));
    }
    return {};
  }

  // Processes of one job have a way to each other by communicators.
  Status CheckJoined() const {
    std::vector<std::size_t> part(files_.size());
    std::iota(part.begin(), part.end(), std::size_t{0});
    const auto root = [&](std::size_t f) {
      while (part[f] != f) {
        f = part[f] = part[part[f]];
      }
      return f;
    };
    for (const auto& [id, communicator] : communicators_) {
      for (const auto& [rank, f] : communicator.file_of) {
        part[root(f)] = root(communicator.file_of.begin()->second);
      }
    }
    for (std::size_t f = 1; f < files_.size(); ++f) {
      if (root(f) != root(0)) {
        return BadInput(fmt::format(
            "{} and {}: of two jobs, for no communicator joins their processes; give the files of "
            "one job. Of one job whose ranks have no common communicator in the files "
            "(NCCL_INSPECTOR_DUMP_MIN_SIZE_BYTES leaves small transfers out), give each part alone",
            files_[0].path, files_[f].path));
      }
    }
    return {};
  }

  // Devices of a process are the ranks that it has in the communicator of which it has most.
  void FindDevices() {
    for (std::size_t f = 0; f < files_.size(); ++f) {
      std::map<std::string, std::set<std::int32_t>> own;
      for (const InspectorRecord& record : files_[f].records) {
        own[record.communicator].insert(record.rank);
      }
      std::size_t most = 1;
      for (const auto& [id, ranks] : own) {
        most = std::max(most, ranks.size());
      }
      devices_.push_back(most);
      own_ranks_.push_back(std::move(own));
    }
  }

  // The device of a rank in a communicator: ranks of a process are in the order of its devices.
  // SIZE_MAX: the process has more devices than ranks in it.
  [[nodiscard]] std::size_t DeviceOf(std::size_t file, const std::string& communicator,
                                     std::int32_t rank) const {
    const std::set<std::int32_t>& ranks = own_ranks_[file].at(communicator);
    return ranks.size() == devices_[file]
               ? static_cast<std::size_t>(std::distance(ranks.begin(), ranks.find(rank)))
               : SIZE_MAX;
  }

  Status NumberDevices() {
    const std::size_t devices = std::accumulate(devices_.begin(), devices_.end(), std::size_t{0});
    const Communicator* world = nullptr;
    for (const auto& [id, communicator] : communicators_) {
      const bool larger = world == nullptr || communicator.members > world->members;
      if (!communicator.file_of.empty() && larger) {
        world = &communicator;
        world_id_ = id;
      }
    }
    const bool all = world != nullptr && world->file_of.size() == devices;
    if (all) {
      for (const auto& [rank, f] : world->file_of) {
        SetRank({f, DeviceOf(f, world_id_, rank)}, rank);
      }
      return {};
    }
    world_id_.clear();
    std::vector<std::size_t> order(files_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(
        order, {}, [&](std::size_t f) { return std::tie(files_[f].host, files_[f].process); });
    std::int32_t next = 0;
    for (const std::size_t f : order) {
      for (std::size_t d = 0; d < devices_[f]; ++d) {
        SetRank({f, d}, next++);
      }
    }
    ranks_.begin()->second.diagnostics.Count("ranks_by_process", files_.front().path);
    return {};
  }
  void SetRank(const Device& device, std::int32_t number) {
    const InspectorFile& file = files_[device.first];
    RecordedRank& rank = ranks_[device];
    rank.rank = number;
    rank.path = file.path;
    rank.host = file.host;
    rank.source = fmt::format("nccl inspector {}", file.version);
    rank.from_start = std::ranges::all_of(
        file.communicators, [](const auto& known) { return known.second.dropped == 0; });
    if (device.second > 0) {
      return;
    }
    rank.records = file.objects;
    rank.diagnostics.Merge(file.diagnostics);
    for (const auto& [id, known] : file.communicators) {
      if (known.dropped > 0) {
        rank.diagnostics.Count("transfers_dropped",
                               fmt::format("{}: communicator {}", file.path, ShownText(id)),
                               known.dropped);
      }
    }
  }

  // The same list on each rank, in the order of ids. Of a file alone, members of all but the
  // communicator of all ranks are not known.
  void AddGroups() {
    std::vector<RecordedGroup> groups;
    for (const auto& [id, communicator] : communicators_) {
      group_of_[id] = static_cast<std::int32_t>(groups.size());
      RecordedGroup& group = groups.emplace_back();
      group.name = id;
      group.description = communicator.name.empty() ? id : communicator.name;
      if (static_cast<std::int32_t>(communicator.file_of.size()) != communicator.members) {
        continue;
      }
      for (const auto& [rank, f] : communicator.file_of) {
        const std::size_t device = DeviceOf(f, id, rank);
        if (device != SIZE_MAX) {
          group.ranks.push_back(ranks_.at({f, device}).rank);
        }
      }
      if (static_cast<std::int32_t>(group.ranks.size()) != communicator.members) {
        group.ranks.clear();
      }
    }
    for (auto& [device, rank] : ranks_) {
      rank.groups = groups;
    }
    if (!whole_job_) {
      AddWorld();
    }
  }
  // Ranks of the largest communicator are the job's.
  void AddWorld() {
    const std::string* largest = nullptr;
    for (const auto& [id, communicator] : communicators_) {
      if (!communicator.file_of.empty() &&
          (largest == nullptr || communicator.members > communicators_.at(*largest).members)) {
        largest = &id;
      }
    }
    if (largest == nullptr || communicators_.at(*largest).file_of.size() != ranks_.size()) {
      return;
    }
    std::vector<std::int32_t> world(static_cast<std::size_t>(communicators_.at(*largest).members));
    std::iota(world.begin(), world.end(), 0);
    for (auto& [device, rank] : ranks_) {
      rank.groups[static_cast<std::size_t>(group_of_.at(*largest))].ranks = world;
    }
  }

  Status AddTransfers(std::size_t f) {
    const InspectorFile& file = files_[f];
    for (const InspectorRecord& record : file.records) {
      const std::size_t device = DeviceOf(f, record.communicator, record.rank);
      if (device == SIZE_MAX) {
        return BadInput(fmt::format(
            "{}: object {}: the process has {} devices and {} ranks of communicator {}, so that "
            "nothing says of which device it is; record with one process a device",
            file.path, record.number, devices_[f], own_ranks_[f].at(record.communicator).size(),
            ShownText(record.communicator)));
      }
      RecordedRank& rank = ranks_.at({f, device});
      Add(record, rank);
    }
    return {};
  }

  void Add(const InspectorRecord& record, RecordedRank& rank) {
    RecordedTransfer& transfer = rank.transfers.emplace_back();
    CommSpec& spec = transfer.spec;
    spec.kind = record.kind;
    spec.sequence = record.sequence;
    spec.async = true;
    spec.peer = IsPointToPoint(record.kind) ? record.peer : -1;
    spec.issued_ns = record.issued_ns;
    spec.noticed_start_ns = record.started_ns;
    spec.noticed_end_ns = record.ended_ns >= 0 ? record.ended_ns : record.dumped_ns;
    transfer.name = fmt::format("nccl:{}", Name(record.kind));
    transfer.where =
        fmt::format("object {} ({} {})", record.number, Name(record.kind), record.sequence);
    transfer.group = group_of_.at(record.communicator);
    transfer.lane = static_cast<std::int32_t>(record.kind);
    transfer.duration_ns = record.duration_ns;
    transfer.started_ns = record.started_ns;
    spec.bytes_known = record.message_bytes >= 0 && record.kind != CommKind::kUnknown;
    if (!spec.bytes_known) {
      return;
    }
    const std::int64_t members = communicators_.at(record.communicator).members;
    const bool blocks = record.kind == CommKind::kReduceScatter ||
                        record.kind == CommKind::kAllToAll || record.kind == CommKind::kScatter;
    constexpr std::int64_t kMost = std::int64_t{1} << 50;
    const std::int64_t message = std::min(record.message_bytes, kMost);
    (record.kind == CommKind::kRecv ? spec.out_bytes : spec.in_bytes) =
        blocks ? std::min(message, kMost / members) * members : message;
    CompleteSizes(members, fmt::format("{}: {}", rank.path, transfer.where), spec,
                  rank.diagnostics);
  }

  const std::vector<InspectorFile>& files_;
  bool whole_job_;
  std::map<std::string, Communicator> communicators_;                     // by id
  std::vector<std::size_t> devices_;                                      // by file
  std::vector<std::map<std::string, std::set<std::int32_t>>> own_ranks_;  // by file: of each id
  std::string world_id_;
  std::map<Device, RecordedRank> ranks_;
  std::map<std::string, std::int32_t> group_of_;  // by id: index of each rank's groups
};

}  // namespace

Result<std::vector<RecordedRank>> RanksOf(const std::vector<InspectorFile>& files, bool whole_job) {
  return RankAssignment(files, whole_job).Run();
}

}  // namespace reprise::nccl_inspector
