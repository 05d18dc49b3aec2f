#include "predict/workload/job/generate.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/checksums.h"
#include "core/for_each_read.h"
#include "core/input_file.h"
#include "core/output_kind.h"
#include "core/temporary_output.h"
#include "et_schema/io.h"
#include "et_schema/trace_set.h"
#include "predict/workload/families/family.h"
#include "predict/workload/job/program.h"
#include "predict/workload/parallel/parallelism.h"
#include "predict/workload/schedule.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;

std::string SafeName(const std::string& name) {
  std::string safe;
  for (const char c : name) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_';
    safe += plain ? c : '_';
  }
  return safe.empty() ? "workload" : safe;
}

std::string ClassFileOf(const Workload& w, std::size_t number, std::string_view suffix) {
  return fmt::format("{}.class{}.et{}", SafeName(w.name), number, suffix);
}

class Generator {
 public:
  explicit Generator(const GenerateRequest& request)
      : request_(request),
        w_(request.workload),
        plan_(PlanRanks(w_)),
        sums_(w_, plan_, CountParameters(w_), CountTrainableParameters(w_)) {}

  Result<GenerateSummary> Run() {
    const auto ranks = static_cast<std::uint64_t>(w_.layout.ranks());
    if (const std::uint64_t most = CurrentInputLimits().files; request_.expand && ranks > most) {
      return UsageError(
          fmt::format("--expand writes a file a rank, {} of them; --limits files={} allows as "
                      "many, and a folded "
                      "set, without --expand, has a file for each class of ranks",
                      ranks, ranks));
    }
    if (!request_.directory.empty()) {
      REPRISE_TRY(CheckReplaceable(request_.directory, OutputKind::kTraceSet, request_.force));
      REPRISE_ASSIGN(output_, TemporaryOutput::Directory(request_.directory));
      if (request_.expand) {
        REPRISE_ASSIGN(folded_, TemporaryOutput::Directory(request_.directory + ".folded"));
      }
    }
    for (std::size_t number = 0; number < plan_.classes.size(); ++number) {
      REPRISE_TRY(WriteClass(number));
    }
    summary_ = sums_.Finish();
    if (output_) {
      REPRISE_TRY(Publish());
    }
    return std::move(summary_);
  }

 private:
  Status WriteClass(std::size_t number) {
    const std::int32_t first = plan_.classes[number].front();
    std::string bytes;  // of the file's nodes
    const auto sink = [&](Node& node, const NodeFacts& facts) -> Status {
      if (request_.observe) {
        REPRISE_TRY(request_.observe(node, facts));
      }
      if (!output_) {
        return {};
      }
      if (request_.costs && node.kind == OpKind::kWork) {
        request_.costs(node);
      }
      return EncodeNode(node, first, bytes);
    };
    REPRISE_ASSIGN(const ClassProgram program, GenerateClass(w_, plan_, number, sink));
    sums_.Add(program.totals);
    if (!output_) {
      return {};
    }
    const std::string path = (fs::path(ClassDirectory()) / ClassFile(number)).string();
    REPRISE_ASSIGN(const auto writer, EtWriter::Create(path, program.header));
    REPRISE_TRY(writer->WriteEncoded(bytes, static_cast<std::uint64_t>(program.totals.nodes)));
    return writer->Close();
  }

  [[nodiscard]] const std::string& ClassDirectory() const {
    return folded_ ? folded_->path() : output_->path();
  }
  [[nodiscard]] std::string ClassFile(std::size_t number) const {
    return ClassFileOf(w_, number, request_.compress ? ".zst" : "");
  }

  Status Publish() {
    REPRISE_ASSIGN(const RankClasses ranks,
                   ClassesOfRanks(w_, plan_, request_.compress ? ".zst" : ""));
    REPRISE_TRY(ranks.Write(ClassDirectory()));
    if (folded_) {
      REPRISE_TRY(Expand(ranks));
    }
    REPRISE_TRY(WriteFacts());
    REPRISE_TRY(WriteChecksums(output_->path(), OutputKind::kTraceSet));
    for (const fs::directory_entry& entry : fs::directory_iterator(output_->path())) {
      ++summary_.files;
      summary_.bytes_on_disk += static_cast<std::int64_t>(entry.file_size());
    }
    return output_->Publish([](const std::string& name) { return !IsTraceSetFile(name); });
  }

  Status WriteFacts() const {
    return WriteTextFile((fs::path(output_->path()) / kJobFile).string(),
                         JobFactsText(FactsOf(w_, summary_)));
  }

  // One file a rank, each read from its class.
  Status Expand(const RankClasses& ranks) {
    summary_.nodes_written = summary_.nodes;
    for (std::int32_t rank = 0; rank < ranks.world_size(); ++rank) {
      const std::string name = fmt::format("{}.{}.et", ranks.SetName(), rank);
      REPRISE_ASSIGN(const auto reader,
                     EtReader::Open((fs::path(folded_->path()) / name).string()));
      REPRISE_ASSIGN(
          const auto writer,
          EtWriter::Create((fs::path(output_->path()) / name).string(), reader->metadata()));
      REPRISE_TRY(
          ForEachRead<Node>(*reader, [&](const Node& node) { return writer->Write(node); }));
      REPRISE_TRY(writer->Close());
    }
    return WriteGroups(output_->path(), ranks.Groups());
  }

  const GenerateRequest& request_;
  const Workload& w_;
  RankPlan plan_;
  std::optional<TemporaryOutput> output_, folded_;
  JobSums sums_;
  GenerateSummary summary_;
};

TraceMetadata HeaderOf(const Workload& w, const Program& program, std::uint64_t nodes,
                       std::int32_t first) {
  TraceMetadata metadata;
  metadata.rank = first;
  metadata.world_size = static_cast<std::int32_t>(w.layout.ranks());
  metadata.source = SourceText(w);
  metadata.steps = program.steps();
  metadata.ranges = program.ranges();
  metadata.machine.framework = "PyTorch 2 (generated)";
  Diagnostics notes;
  notes.Count("generated_without_times", {}, nodes);
  metadata.diagnostics = notes.Counts();
  return metadata;
}

}  // namespace

std::string SourceText(const Workload& w) {
  const Layout& l = w.layout;
  return fmt::format(
      "reprise generate {}: tp {} cp {}{} dp {} pp {} ep {}{}{}{}, batch {} of {}, {}{}; no "
      "times",
      w.name, l.tp, l.cp,
      l.cp > 1 && l.cp_comm_type != ContextComm::kRing ? fmt::format(" by {}", Name(l.cp_comm_type))
                                                       : "",
      l.dp, l.pp, l.ep, l.etp > 0 ? fmt::format(" etp {}", l.etp) : "",
      l.shards > 0 ? fmt::format(" fsdp {}", l.shards)
      : l.fsdp     ? " fsdp"
                   : "",
      l.sequence_parallel ? " sequence parallel" : "", w.global_batch, w.micro_batch,
      ScheduleText(w),
      w.lora ? fmt::format(", LoRA {} of {}", w.lora->rank, fmt::join(w.lora->targets, ", ")) : "");
}

Result<ClassProgram> GenerateClass(const Workload& w, const RankPlan& plan, std::size_t number,
                                   const NodeSink& sink, bool repeatable) {
  const std::int32_t first = plan.classes[number].front();
  try {
    Totals totals(repeatable);
    Emitter emitter(w.device != "cpu", [&](Node& node, const NodeFacts& facts) -> Status {
      REPRISE_TRY(CheckNodeCount(emitter.nodes()));
      totals.Add(node, facts, emitter.uses().size());
      return sink ? sink(node, facts) : Status{};
    });
    Program program(w, PlaceOf(w.layout, first), emitter);
    REPRISE_TRY(program.Run());
    totals.Finish(emitter.uses());
    return ClassProgram{HeaderOf(w, program, emitter.nodes(), first), std::move(totals)};
  } catch (const std::bad_alloc&) {
    return EnvironmentError(
        "not enough memory for the nodes of one class of ranks: describe fewer layers a stage or "
        "fewer micro-batches");
  }
}

JobSums::JobSums(const Workload& workload, const RankPlan& plan, std::int64_t parameters,
                 std::int64_t trainable)
    : workload_(workload), plan_(plan) {
  summary_.ranks = workload.layout.ranks();
  summary_.classes = static_cast<std::int64_t>(plan.classes.size());
  summary_.micro_batches = workload.micro_batches();
  summary_.parameters = parameters;
  summary_.trainable_parameters = trainable;
}

void JobSums::Add(const Totals& totals) {
  const std::vector<std::int32_t>& of_ranks = plan_.classes[summary_.class_memory.size()];
  const auto ranks = static_cast<std::int64_t>(of_ranks.size());
  const std::int64_t stage = PlaceOf(workload_.layout, of_ranks.front()).pp;
  summary_.nodes += totals.nodes * ranks;
  summary_.nodes_written += totals.nodes;
  for (const auto& [copies, flops] : totals.model_flops) {
    summary_.model_flops +=
        static_cast<double>(flops) * static_cast<double>(ranks) / static_cast<double>(copies);
  }
  summary_.executed_flops +=
      static_cast<double>(totals.executed_flops) * static_cast<double>(ranks);
  for (const GroupTransfers& row : totals.transfers) {
    TransferSums& all = transfers_[{std::string(Name(row.kind)), row.group}];
    all.count += row.sums.count * ranks;
    all.bytes += row.sums.bytes * ranks;
  }
  const MemorySums memory = totals.Memory();
  summary_.class_memory.push_back({stage, of_ranks.front(), ranks, memory});
  const auto [at, added] = memory_.emplace(stage, memory);
  if (!added && memory.peak > at->second.peak) {
    at->second = memory;
  }
}

GenerateSummary JobSums::Finish() {
  // So far of all steps.
  summary_.model_flops /= static_cast<double>(workload_.steps);
  summary_.executed_flops /= static_cast<double>(workload_.steps);
  for (const auto& [stage, memory] : memory_) {
    summary_.memory.push_back({stage, memory});
  }
  for (const auto& [key, sums] : transfers_) {
    summary_.transfers.push_back({key.first, key.second, sums});
  }
  return std::move(summary_);
}

RankPlan PlanRanks(const Workload& w) {
  RankPlan plan;
  const ModelFamily& family = *FindFamily(w.model.family);
  std::map<std::pair<std::int64_t, std::int64_t>, std::size_t> classes;  // stage, variant
  std::vector<std::optional<std::int64_t>> variants(
      static_cast<std::size_t>(w.layout.cp * w.layout.dp));  // by context and data
  std::pair<std::int64_t, std::int64_t> last = {-1, -1};     // ranks in a row are mostly alike
  std::size_t number = 0;
  for (std::int64_t rank = 0; rank < w.layout.ranks(); ++rank) {
    const Place place = PlaceOf(w.layout, rank);
    auto& variant = variants[static_cast<std::size_t>(place.cp * w.layout.dp + place.dp)];
    if (!variant) {
      variant = family.variant(w, place);
    }
    if (last != std::pair(place.pp, *variant)) {
      last = {place.pp, *variant};
      number = classes.try_emplace(last, classes.size()).first->second;
      plan.classes.resize(classes.size());
    }
    plan.classes[number].push_back(static_cast<std::int32_t>(rank));
  }
  for (const Parallelism& parallelism : BuiltinParallelisms()) {
    for (GroupRole& role : parallelism.groups(w)) {
      std::int64_t members = role.at.empty() ? 1 : static_cast<std::int64_t>(role.at.size());
      for (std::size_t i = 0; role.at.empty() && i < role.axes.size(); ++i) {
        members *= role.mesh[role.axes[i]];
      }
      if (members > 1) {
        plan.roles.push_back(std::move(role));
      }
    }
  }
  return plan;
}

Result<RankClasses> ClassesOfRanks(const Workload& workload, const RankPlan& plan,
                                   std::string_view suffix) {
  std::vector<RankClass> classes;
  for (std::size_t number = 0; number < plan.classes.size(); ++number) {
    classes.push_back({ClassFileOf(workload, number, suffix), RangesOf(plan.classes[number])});
  }
  return RankClasses::Create(static_cast<std::int32_t>(workload.layout.ranks()), std::move(classes),
                             plan.roles);
}

namespace {

std::int64_t CountThose(const Workload& w, bool (*counts)(const Parameter& parameter)) {
  const ModelFamily& family = *FindFamily(w.model.family);
  const std::vector<std::int64_t> layers = w.LayersOfChunks();
  std::int64_t sum = 0;
  std::int64_t first_layer = 0;
  for (std::size_t chunk = 0; chunk < layers.size(); ++chunk) {
    const ModelPart part{.first = chunk == 0,
                         .last = chunk + 1 == layers.size(),
                         .first_layer = first_layer,
                         .layers = layers[chunk]};
    first_layer += layers[chunk];
    for (std::int64_t expert = 0; expert < w.layout.ep; ++expert) {
      for (const auto& unit : family.units(w, part, {.dp = expert})) {
        for (const Parameter& parameter : unit->parameters) {
          const bool again = parameter.tied && !part.first;
          if ((expert == 0 || parameter.expert) && !again && counts(parameter)) {
            sum += parameter.elements() * parameter.parts;
          }
        }
      }
    }
  }
  return sum;
}

}  // namespace

std::int64_t CountParameters(const Workload& w) {
  return CountThose(w, [](const Parameter&) { return true; });
}

std::int64_t CountTrainableParameters(const Workload& w) {
  return CountThose(w, [](const Parameter& parameter) { return !parameter.frozen; });
}

Result<GenerateSummary> Generate(const GenerateRequest& request) {
  REPRISE_TRY(CheckWorkload(request.workload));
  try {
    return Generator(request).Run();
  } catch (const fs::filesystem_error& error) {
    return EnvironmentError(error.what());
  }
}

}  // namespace reprise
