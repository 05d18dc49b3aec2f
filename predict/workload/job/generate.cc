#include "predict/workload/job/generate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <optional>

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

std::string SourceText(const Workload& w) {
  const Layout& l = w.layout;
  return fmt::format(
      "reprise generate {}: tp {} cp {} dp {} pp {} ep {}{}{}, batch {} of {}, {}{}; no times",
      w.name, l.tp, l.cp, l.dp, l.pp, l.ep, l.fsdp ? " fsdp" : "",
      l.sequence_parallel ? " sequence parallel" : "", w.global_batch, w.micro_batch, w.schedule,
      w.virtual_stages > 1 ? fmt::format(":{}", w.virtual_stages) : "");
}

std::string ClassFileOf(const Workload& w, std::size_t number, std::string_view suffix) {
  return fmt::format("{}.class{}.et{}", SafeName(w.name), number, suffix);
}

class Generator {
 public:
  explicit Generator(const GenerateRequest& request)
      : request_(request), w_(request.workload), plan_(PlanRanks(w_)) {}

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
    summary_.ranks = w_.layout.ranks();
    summary_.classes = static_cast<std::int64_t>(plan_.classes.size());
    summary_.micro_batches = w_.micro_batches();
    summary_.parameters = CountParameters(w_);
    for (std::size_t number = 0; number < plan_.classes.size(); ++number) {
      REPRISE_TRY(WriteClass(number));
    }
    Summarize();
    if (output_) {
      REPRISE_TRY(Publish());
    }
    return std::move(summary_);
  }

 private:
  Status WriteClass(std::size_t number) {
    const std::vector<std::int32_t>& ranks = plan_.classes[number];
    const std::int32_t first = ranks.front();
    const Place place = PlaceOf(w_.layout, first);
    std::string bytes;  // of the file's nodes
    std::optional<Totals> totals;
    Emitter emitter(w_.device != "cpu", [&](Node& node, const NodeFacts& facts) -> Status {
      REPRISE_TRY(CheckNodeCount(emitter.nodes()));
      totals->Add(node, facts);
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
    });
    totals.emplace(emitter);
    Program program(w_, place, emitter);
    REPRISE_TRY(program.Run());
    Sum(*totals, ranks, place.pp);
    if (request_.class_done) {
      REPRISE_TRY(request_.class_done(HeaderOf(program, emitter.nodes(), first)));
    }
    if (!output_) {
      return {};
    }
    const std::string path = (fs::path(ClassDirectory()) / ClassFile(number)).string();
    REPRISE_ASSIGN(const auto writer,
                   EtWriter::Create(path, HeaderOf(program, emitter.nodes(), first)));
    REPRISE_TRY(writer->WriteEncoded(bytes, emitter.nodes()));
    return writer->Close();
  }

  [[nodiscard]] TraceMetadata HeaderOf(const Program& program, std::uint64_t nodes,
                                       std::int32_t first) const {
    TraceMetadata metadata;
    metadata.rank = first;
    metadata.world_size = static_cast<std::int32_t>(w_.layout.ranks());
    metadata.source = SourceText(w_);
    metadata.steps = program.steps();
    metadata.ranges = program.ranges();
    metadata.machine.framework = "PyTorch 2 (generated)";
    Diagnostics notes;
    notes.Count("generated_without_times", {}, nodes);
    metadata.diagnostics = notes.Counts();
    return metadata;
  }

  [[nodiscard]] const std::string& ClassDirectory() const {
    return folded_ ? folded_->path() : output_->path();
  }
  [[nodiscard]] std::string ClassFile(std::size_t number) const {
    return ClassFileOf(w_, number, request_.compress ? ".zst" : "");
  }

  void Sum(const Totals& totals, const std::vector<std::int32_t>& of_ranks, std::int64_t stage) {
    const auto ranks = static_cast<std::int64_t>(of_ranks.size());
    summary_.nodes += totals.nodes * ranks;
    summary_.nodes_written += totals.nodes;
    for (const auto& [copies, flops] : totals.model_flops) {
      summary_.model_flops +=
          static_cast<double>(flops) * static_cast<double>(ranks) / static_cast<double>(copies);
    }
    summary_.executed_flops +=
        static_cast<double>(totals.executed_flops) * static_cast<double>(ranks);
    for (const auto& [key, sums] : totals.transfers) {
      TransferSums& all = transfers_[key];
      all.count += sums.count * ranks;
      all.bytes += sums.bytes * ranks;
    }
    const MemorySums memory = totals.Memory();
    summary_.class_memory.push_back({stage, of_ranks.front(), ranks, memory});
    const auto [at, added] = memory_.emplace(stage, memory);
    if (!added && memory.peak > at->second.peak) {
      at->second = memory;
    }
  }

  void Summarize() {
    // So far of all steps.
    summary_.model_flops /= static_cast<double>(w_.steps);
    summary_.executed_flops /= static_cast<double>(w_.steps);
    for (const auto& [stage, memory] : memory_) {
      summary_.memory.push_back({stage, memory});
    }
    for (const auto& [key, sums] : transfers_) {
      summary_.transfers.push_back({key.first, key.second, sums});
    }
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
    const std::string path = (fs::path(output_->path()) / kJobFile).string();
    std::ofstream out(path, std::ios::binary);
    out << JobFactsText(FactsOf(w_, summary_));
    out.close();
    return out ? Status{} : EnvironmentError(fmt::format("{}: cannot be written", path));
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
  GenerateSummary summary_;
  std::map<std::int64_t, MemorySums> memory_;
  std::map<std::pair<std::string, std::string>, TransferSums> transfers_;
};

}  // namespace

RankPlan PlanRanks(const Workload& w) {
  RankPlan plan;
  const ModelFamily& family = *FindFamily(w.model.family);
  std::map<std::pair<std::int64_t, std::int64_t>, std::size_t> classes;    // stage, variant
  std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> variants;  // context, data
  for (std::int64_t rank = 0; rank < w.layout.ranks(); ++rank) {
    const Place place = PlaceOf(w.layout, rank);
    const auto [known, fresh] = variants.try_emplace({place.cp, place.dp}, 0);
    if (fresh) {
      known->second = family.variant(w, place);
    }
    const auto [at, added] = classes.try_emplace({place.pp, known->second}, plan.classes.size());
    if (added) {
      plan.classes.emplace_back();
    }
    plan.classes[at->second].push_back(static_cast<std::int32_t>(rank));
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

std::int64_t CountParameters(const Workload& w) {
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
          if ((expert == 0 || parameter.expert) && !again) {
            sum += parameter.elements() * parameter.parts;
          }
        }
      }
    }
  }
  return sum;
}

Result<GenerateSummary> Generate(const GenerateRequest& request) {
  REPRISE_TRY(CheckWorkload(request.workload));
  try {
    return Generator(request).Run();
  } catch (const fs::filesystem_error& error) {
    return EnvironmentError(error.what());
  } catch (const std::bad_alloc&) {
    return EnvironmentError(
        "not enough memory for the nodes of one class of ranks: describe fewer layers a stage or "
        "fewer micro-batches");
  }
}

}  // namespace reprise
