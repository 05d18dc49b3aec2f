#include "predict/rescale/replicas.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <optional>
#include <utility>

#include "core/for_each_read.h"
#include "core/input_file.h"
#include "core/output_kind.h"
#include "core/temporary_output.h"
#include "et_schema/io.h"
#include "et_schema/trace_set.h"
#include "predict/rescale/data_axis.h"
#include "predict/rescale/expert_axes.h"
#include "predict/rescale/rank_mesh.h"
#include "predict/rescale/rank_sources.h"
#include "predict/rescale/rescaled_nodes.h"
#include "predict/rescale/seen_roles.h"
#include "predict/workload/job/facts.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;

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
    REPRISE_ASSIGN(job_, SeeRoles(set_, request_.set, request_.kinds, files_));
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

  [[nodiscard]] bool of_data() const { return kind_ == GroupKind::kData; }
  [[nodiscard]] std::int64_t asked() const {
    return of_data()                     ? request_.data_parallel
           : kind_ == GroupKind::kExpert ? request_.expert_parallel
                                         : request_.tensor_parallel;
  }
  [[nodiscard]] std::int64_t before() const {
    return of_data()                     ? summary_.data_parallel_before
           : kind_ == GroupKind::kExpert ? summary_.expert_parallel_before
                                         : summary_.tensor_parallel_before;
  }
  // "--dp 8"
  [[nodiscard]] std::string Option() const { return fmt::format("--{} {}", Name(kind_), asked()); }

  // The mesh with as many places on the axis as asked for.
  Result<WidenedMesh> WidenData(const RankMesh& mesh, const std::vector<GroupKind>& kinds) {
    REPRISE_ASSIGN(const DataAxis axis, FindDataAxis(mesh, kinds, job_.kinds.back()));
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
    REPRISE_ASSIGN(const std::size_t axis, FindTensorAxis(mesh, kinds, job_.kinds.back()));
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

  Result<WidenedMesh> ExchangeExperts(const RankMesh& mesh, const std::vector<GroupKind>& kinds) {
    REPRISE_ASSIGN(const ExpertAxes axes, FindExpertAxes(mesh, kinds, job_.kinds.back()));
    summary_.expert_parallel_before = mesh.sizes[axes.experts];
    summary_.expert_parallel_after = asked();
    return WidenExperts(mesh, axes, asked());
  }
  Result<WidenedMesh> Widen(const RankMesh& mesh, const std::vector<GroupKind>& kinds) {
    return of_data()                     ? WidenData(mesh, kinds)
           : kind_ == GroupKind::kExpert ? ExchangeExperts(mesh, kinds)
                                         : WidenTensors(mesh, kinds);
  }

  Status FindAxis() {
    const std::vector<JobRole> named(job_.roles.begin(), job_.roles.end() - 1);
    REPRISE_ASSIGN(const RankMesh mesh, FindMesh(set_.world_size, named));
    const std::vector<GroupKind> kinds(job_.kinds.begin(), job_.kinds.end() - 1);
    auto widened = Widen(mesh, kinds);
    if (!widened) {
      Error error = widened.error();
      if (error.kind == ErrorKind::kBadInput) {
        error.message = fmt::format("{}: {}; its groups with transfers: {}", request_.set,
                                    error.message, job_.Text());
      }
      return tl::unexpected(std::move(error));
    }
    std::vector<MeshRole> places = mesh.roles;
    places.emplace_back();
    places.back().axes.resize(mesh.sizes.size());
    std::iota(places.back().axes.begin(), places.back().axes.end(), 0);
    all_ = RescaledRoles{.roles = job_.roles,
                         .places = std::move(places),
                         .by_id = job_.by_id,
                         .mesh = *std::move(widened),
                         .kind = kind_,
                         .kv_heads = request_.kv_heads};
    for (const SeenTransfers& seen : job_.seen) {
      all_->divides.push_back(seen.kinds.contains(CommKind::kReduceScatter));
    }
    for (std::size_t i = 0; i < job_.roles.size(); ++i) {
      if (all_->SizeBefore(i) > 1 && job_.seen[i].transfers > 0) {
        summary_.groups.push_back({job_.roles[i].name, job_.roles[i].description, job_.kinds[i],
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
    header.source += fmt::format("; rescaled: {} {} for {}", Name(kind_), asked(), before());
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
    for (std::size_t i = 0; i < job_.roles.size(); ++i) {
      if (i + 1 == job_.roles.size() && job_.seen[i].transfers == 0) {
        break;  // a folded set has the group of all ranks without a role
      }
      roles.push_back({.role = job_.roles[i].name,
                       .description = job_.roles[i].description,
                       .mesh = mesh.sizes,
                       .axes = all_->places[i].axes,
                       .at = all_->places[i].at});
    }
    for (const std::size_t i : all_->without_axis) {
      std::vector<std::size_t> axes = all_->places[i].axes;
      std::erase(axes, all_->mesh.axis());
      roles.push_back({.role = all_->NameWithoutAxis(i),
                       .description = job_.roles[i].description,
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
  SeenRoles job_;
  std::optional<RescaledRoles> all_;
  std::vector<RescaledClass> classes_;
};

}  // namespace

Status WriteReplicas(const TraceSet& set, const RescaleRequest& request, GroupKind kind,
                     const std::string& directory, RescaleSummary& summary) {
  return Replicas(set, request, kind, directory, summary).Write();
}

}  // namespace reprise
