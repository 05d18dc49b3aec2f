#include "predict/rescale/replicas.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <optional>
#include <utility>

#include "core/counted.h"
#include "core/for_each_read.h"
#include "core/input_file.h"
#include "core/output_kind.h"
#include "core/temporary_output.h"
#include "et_schema/io.h"
#include "et_schema/trace_set.h"
#include "predict/rescale/data_axis.h"
#include "predict/rescale/rank_mesh.h"
#include "predict/rescale/rank_sources.h"
#include "predict/rescale/rescaled_nodes.h"
#include "predict/workload/job/facts.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;

constexpr char kAllRanks[] = "all";

class Replicas {
 public:
  Replicas(const TraceSet& set, const RescaleRequest& request, GroupKind kind,
           const std::string& directory, RescaleSummary& summary)
      : set_(set), request_(request), kind_(kind), directory_(directory), summary_(summary) {}

  Status Write() {
    for (const TraceSet::DistinctRank& one : set_.DistinctRanks()) {
      REPRISE_TRY(set_.VerifyFile(one.rank));
      files_.push_back({one.rank, one.file});
    }
    REPRISE_TRY(FindRoles());
    REPRISE_TRY(FindAxis());
    REPRISE_ASSIGN(classes_,
                   ChooseSources(set_, all_->mesh, files_, of_data() && request_.one_copy));
    summary_.classes = static_cast<std::int64_t>(classes_.size());
    for (std::size_t i = 0; i < classes_.size(); ++i) {
      REPRISE_TRY(WriteClass(i));
    }
    // Where the set was changed before, each of its files is a class with a captured rank.
    const std::vector<std::int32_t> earlier = std::exchange(summary_.source_ranks, {});
    for (const RescaledClass& one : classes_) {
      summary_.source_ranks.push_back(earlier.empty() ? files_[one.file].rank : earlier[one.file]);
    }
    REPRISE_TRY(WriteRanks());
    return WriteJob();
  }

 private:
  [[nodiscard]] bool folded() const { return set_.classes != nullptr; }

  Status FindRoles() {
    roles_ = RolesOf(set_);
    for (std::size_t i = 0; i < roles_.size(); ++i) {
      if (folded()) {
        by_id_[roles_[i].name] = i;
      }
      for (const std::string& id : roles_[i].ids) {
        by_id_[id] = i;
      }
    }
    roles_.push_back({.name = kAllRanks, .description = "default_pg", .ids = {"0"}});
    by_id_["0"] = roles_.size() - 1;
    seen_.resize(roles_.size());
    for (SourceFile& file : files_) {
      REPRISE_TRY(See(file));
    }
    return FindKinds();
  }

  Status See(SourceFile& file) {
    REPRISE_ASSIGN(const auto reader, EtReader::OpenAsItStands(file.path));
    const std::vector<Step>& steps = reader->metadata().steps;
    const std::int64_t ns =
        std::accumulate(steps.begin(), steps.end(), std::int64_t{0},
                        [](std::int64_t sum, const Step& step) { return sum + step.duration_ns; });
    file.step_ns = steps.empty() ? 0 : ns / static_cast<std::int64_t>(steps.size());
    return ForEachRead<Node>(*reader, [&](const Node& node) -> Status {
      if (node.comm) {
        const auto role = by_id_.find(node.comm->group.empty() ? "0" : node.comm->group);
        if (role != by_id_.end()) {
          seen_[role->second].Add(node);
        }
      }
      return {};
    });
  }

  // As the user says, else as the description, else as the transfers.
  Status FindKinds() {
    std::map<std::string, GroupKind> given = request_.kinds;
    std::vector<std::string> unknown;
    for (std::size_t i = 0; i < roles_.size(); ++i) {
      const JobRole& role = roles_[i];
      const SeenTransfers& seen = seen_[i];
      std::optional<GroupKind> kind;
      std::vector<std::string> names = role.ids;
      names.insert(names.end(), {role.name, role.description});
      for (const std::string& name : names) {
        if (const auto found = given.find(name); found != given.end()) {
          kind = found->second;
          given.erase(found);
        }
      }
      if (!kind && i + 1 < roles_.size()) {
        kind = KindOfDescription(role.description.empty() ? role.name : role.description);
      }
      if (!kind) {
        kind = seen.transfers == 0 ? GroupKind::kOther : KindOfTransfers(seen);
      }
      if (*kind == GroupKind::kUnknown) {
        unknown.push_back(
            fmt::format("\"{}\" ({})", role.name, Counted(seen.transfers, "transfer")));
      }
      kinds_.push_back(*kind);
    }
    if (!given.empty()) {
      std::vector<std::string> names;
      names.reserve(roles_.size());
      for (const JobRole& role : roles_) {
        names.push_back(role.name);
      }
      return UsageError(fmt::format("--group {}: the set has no such process groups, but {}",
                                    given.begin()->first, fmt::join(names, ", ")));
    }
    if (!unknown.empty()) {
      return BadInput(fmt::format(
          "{}: what these process groups are for follows neither from their descriptions nor from "
          "their transfers: {}; say it, as in --group {}=dp (dp, tp, pp, cp, ep or other)",
          request_.set, fmt::join(unknown, ", "), NameOfUnknown()));
    }
    return {};
  }

  [[nodiscard]] std::string NameOfUnknown() const {
    const auto at = std::ranges::find(kinds_, GroupKind::kUnknown) - kinds_.begin();
    return roles_[static_cast<std::size_t>(at)].name;
  }

  // "tp (tp, 64 transfers), all (ep, 11 transfers)"
  [[nodiscard]] std::string KindsText() const {
    std::vector<std::string> texts;
    for (std::size_t i = 0; i < roles_.size(); ++i) {
      if (seen_[i].transfers > 0) {
        texts.push_back(fmt::format("{} ({}, {})", roles_[i].name, Name(kinds_[i]),
                                    Counted(seen_[i].transfers, "transfer")));
      }
    }
    return texts.empty() ? "none" : fmt::format("{}", fmt::join(texts, ", "));
  }

  [[nodiscard]] bool of_data() const { return kind_ == GroupKind::kData; }
  [[nodiscard]] std::int64_t asked() const {
    return of_data() ? request_.data_parallel : request_.tensor_parallel;
  }
  // "--dp 8"
  [[nodiscard]] std::string Option() const { return fmt::format("--{} {}", Name(kind_), asked()); }

  // The mesh with as many places on the axis as asked for.
  Result<WidenedMesh> WidenData(const RankMesh& mesh, const std::vector<GroupKind>& kinds) {
    REPRISE_ASSIGN(const DataAxis axis, FindDataAxis(mesh, kinds, kinds_.back()));
    const std::int64_t others = axis.data_parallel / mesh.sizes[axis.axis];
    if (asked() % others != 0) {
      return BadInput(fmt::format(
          "{}: {} of the {} data-parallel ranks divide experts or parameters, and stay; give a "
          "multiple of {}",
          Option(), others, axis.data_parallel, others));
    }
    if (asked() == axis.data_parallel) {
      return UsageError(
          fmt::format("{}: the set has as many data-parallel ranks already", Option()));
    }
    summary_.data_parallel_before = axis.data_parallel;
    summary_.data_parallel_after = asked();
    return WidenedMesh(mesh, axis.axis, asked() / others);
  }
  Result<WidenedMesh> WidenTensors(const RankMesh& mesh, const std::vector<GroupKind>& kinds) {
    REPRISE_ASSIGN(const std::size_t axis, FindTensorAxis(mesh, kinds, kinds_.back()));
    if (asked() == mesh.sizes[axis]) {
      return UsageError(
          fmt::format("{}: the set has as many tensor-parallel ranks already", Option()));
    }
    if (asked() == 1) {
      return BadInput(
          "--tp 1: a job without tensor parallelism has other operators than this one, which are "
          "not in the set; give at least 2");
    }
    summary_.tensor_parallel_before = mesh.sizes[axis];
    summary_.tensor_parallel_after = asked();
    return WidenedMesh(mesh, axis, asked());
  }

  Status FindAxis() {
    const std::vector<JobRole> named(roles_.begin(), roles_.end() - 1);
    REPRISE_ASSIGN(const RankMesh mesh, FindMesh(set_.world_size, named));
    const std::vector<GroupKind> kinds(kinds_.begin(), kinds_.end() - 1);
    auto widened = of_data() ? WidenData(mesh, kinds) : WidenTensors(mesh, kinds);
    if (!widened) {
      Error error = widened.error();
      if (error.kind == ErrorKind::kBadInput) {
        error.message = fmt::format("{}: {}; its groups with transfers: {}", request_.set,
                                    error.message, KindsText());
      }
      return tl::unexpected(std::move(error));
    }
    std::vector<MeshRole> places = mesh.roles;
    places.emplace_back();
    places.back().axes.resize(mesh.sizes.size());
    std::iota(places.back().axes.begin(), places.back().axes.end(), 0);
    all_ = RescaledRoles{.roles = roles_,
                         .places = std::move(places),
                         .by_id = by_id_,
                         .mesh = *std::move(widened),
                         .kind = kind_};
    for (const SeenTransfers& seen : seen_) {
      all_->divides.push_back(seen.kinds.contains(CommKind::kReduceScatter));
    }
    for (std::size_t i = 0; i < roles_.size(); ++i) {
      if (all_->SizeBefore(i) > 1 && seen_[i].transfers > 0) {
        summary_.groups.push_back({roles_[i].name, roles_[i].description, kinds_[i],
                                   all_->SizeBefore(i), all_->SizeAfter(i)});
      }
    }
    return CheckRankCount();
  }

  Status CheckRankCount() {
    std::int64_t ranks = 1;
    for (const std::int64_t size : all_->mesh.after().sizes) {
      ranks *= size;
      if (ranks > static_cast<std::int64_t>(CurrentInputLimits().ranks)) {
        return BadInput(fmt::format("{}: more ranks than {}, which --limits ranks=N raises",
                                    Option(), CurrentInputLimits().ranks));
      }
    }
    summary_.ranks_after = ranks;
    return {};
  }

  [[nodiscard]] std::string ClassFile(std::size_t number) const {
    return fmt::format("{}.class{}.et", set_.name, number);
  }

  Status Pass(const std::string& path, const std::function<Status(Node&)>& visit) const {
    REPRISE_ASSIGN(const auto reader, EtReader::OpenAsItStands(path));
    return ForEachRead<Node>(*reader, visit);
  }

  Status WriteClass(std::size_t number) {
    const SourceFile& file = files_[classes_[number].file];
    RescaledNodes nodes(*all_, file.rank, folded());
    REPRISE_TRY(Pass(file.path, [&nodes](Node& node) { return nodes.Measure(node); }));
    if (const Status solved = nodes.EndMeasure(); !solved) {
      return Fail(solved.error().kind, fmt::format("{}: {}", file.path, solved.error().message));
    }
    for (bool found = nodes.follows(); found;) {
      found = false;
      REPRISE_TRY(Pass(file.path, [&](Node& node) -> Status {
        REPRISE_ASSIGN(const bool more, nodes.Follow(node));
        found = found || more;
        return {};
      }));
    }
    REPRISE_ASSIGN(const auto reader, EtReader::OpenAsItStands(file.path));
    REPRISE_ASSIGN(const auto writer,
                   EtWriter::Create((fs::path(directory_) / ClassFile(number)).string(),
                                    HeaderOf(reader->metadata(), classes_[number].ranks.front())));
    REPRISE_TRY(ForEachRead<Node>(*reader, [&](Node& node) -> Status {
      REPRISE_TRY(ChangeNode(nodes, node));
      ++summary_.nodes_written;
      return writer->Write(node);
    }));
    return writer->Close();
  }

  Status ChangeNode(RescaledNodes& nodes, Node& node) {
    REPRISE_ASSIGN(const Rescaled rescaled, nodes.Change(node));
    if (rescaled != Rescaled::kNo) {
      node.rescaled = rescaled;
    }
    if (node.rescaled != Rescaled::kNo) {
      ++summary_.changed[node.rescaled];
    }
    if (rescaled == Rescaled::kShard && node.kind == OpKind::kWork &&
        (node.num_ops >= 0 || node.tensor_bytes >= 0) && request_.costs) {
      node.num_ops = node.tensor_bytes = -1;
      request_.costs(node);
    }
    const bool without_arguments = node.inputs.empty() && node.outputs.empty();
    if (nodes.follows() && without_arguments && node.op_class == OpClass::kOptimizer &&
        node.kind == OpKind::kWork) {
      ++summary_.unknown_sizes;
    }
    return {};
  }

  [[nodiscard]] TraceMetadata HeaderOf(TraceMetadata header, std::int32_t rank) const {
    header.source +=
        fmt::format("; rescaled: {} {} for {}", Name(kind_), asked(),
                    of_data() ? summary_.data_parallel_before : summary_.tensor_parallel_before);
    header.rank = rank;
    header.world_size = static_cast<std::int32_t>(summary_.ranks_after);
    header.groups.clear();
    header.placement = {};  // of the captured rank, not of those that repeat it
    return header;
  }

  Status WriteRanks() {
    std::vector<RankClass> classes;
    for (std::size_t i = 0; i < classes_.size(); ++i) {
      classes.push_back({ClassFile(i), RangesOf(classes_[i].ranks)});
    }
    const RankMesh& mesh = all_->mesh.after();
    std::vector<GroupRole> roles;
    for (std::size_t i = 0; i < roles_.size(); ++i) {
      if (i + 1 == roles_.size() && seen_[i].transfers == 0) {
        break;  // a folded set has the group of all ranks without a role
      }
      roles.push_back({.role = roles_[i].name,
                       .description = roles_[i].description,
                       .mesh = mesh.sizes,
                       .axes = all_->places[i].axes,
                       .at = all_->places[i].at});
    }
    for (const std::size_t i : all_->without_axis) {
      std::vector<std::size_t> axes = all_->places[i].axes;
      std::erase(axes, all_->mesh.axis());
      roles.push_back({.role = all_->NameWithoutAxis(i),
                       .description = roles_[i].description,
                       .mesh = mesh.sizes,
                       .axes = std::move(axes)});
    }
    std::erase_if(roles, [&mesh](const GroupRole& role) {
      return mesh.GroupSize({role.axes, role.at}) < 2;
    });
    REPRISE_ASSIGN(const RankClasses ranks,
                   RankClasses::Create(static_cast<std::int32_t>(summary_.ranks_after),
                                       std::move(classes), std::move(roles)));
    return ranks.Write(directory_);
  }

  // A generated set's: as many more samples and FLOPs as replicas. What memory divided tensors take
  // is not known from the nodes.
  Status WriteJob() const {
    REPRISE_ASSIGN(std::optional<JobFacts> job, ReadJobFacts(set_.directory));
    if (!job) {
      return {};
    }
    job->ranks = summary_.ranks_after;
    if (of_data()) {
      const auto scaled = [&](std::int64_t number) {
        return number * summary_.data_parallel_after / summary_.data_parallel_before;
      };
      job->samples = scaled(job->samples);
      job->tokens = scaled(job->tokens);
      const double ratio = static_cast<double>(summary_.data_parallel_after) /
                           static_cast<double>(summary_.data_parallel_before);
      job->model_flops *= ratio;
      job->executed_flops *= ratio;
    }
    std::vector<ClassMemory> memory;
    for (const RescaledClass& one : classes_) {
      if (!summary_.changed.contains(Rescaled::kShard) && one.file < job->memory.size()) {
        memory.push_back(job->memory[one.file]);
        memory.back().first_rank = one.ranks.front();
        memory.back().ranks = static_cast<std::int64_t>(one.ranks.size());
      }
    }
    job->memory = std::move(memory);
    return WriteTextFile((fs::path(directory_) / kJobFile).string(), JobFactsText(*job));
  }

  const TraceSet& set_;
  const RescaleRequest& request_;
  const GroupKind kind_;  // of the ranks that there are more or fewer of
  const std::string& directory_;
  RescaleSummary& summary_;
  std::vector<SourceFile> files_;
  std::vector<JobRole> roles_;  // the last one: of all ranks
  std::map<std::string, std::size_t> by_id_;
  std::vector<SeenTransfers> seen_;  // parallel to roles_, of all files
  std::vector<GroupKind> kinds_;     // parallel to roles_
  std::optional<RescaledRoles> all_;
  std::vector<RescaledClass> classes_;
};

}  // namespace

Status WriteReplicas(const TraceSet& set, const RescaleRequest& request, GroupKind kind,
                     const std::string& directory, RescaleSummary& summary) {
  return Replicas(set, request, kind, directory, summary).Write();
}

}  // namespace reprise
