#include "report/page/html_steps.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <tuple>

namespace reprise {

void StepClassSums::Add(StepClassSums&& others) {
  recorded_.merge(others.recorded_);
  replayed_.merge(others.replayed_);
  for (std::size_t c = 0; c < kOpClassCount; ++c) {
    present_[c] = present_[c] || others.present_[c];
  }
}

namespace {

// Finds the sums of a key. Nodes and records of one step and iteration mostly stand together.
template <typename Map>
class LastFound {
 public:
  explicit LastFound(Map& sums) : sums_(sums) {}
  typename Map::mapped_type& operator()(const typename Map::key_type& key) {
    if (at_ == nullptr || key != last_) {
      at_ = &sums_[key];
      last_ = key;
    }
    return *at_;
  }

 private:
  Map& sums_;
  typename Map::key_type last_{};
  typename Map::mapped_type* at_ = nullptr;
};

}  // namespace

StepClassSums::StepClassSums(const MeasuredRank& rank) {
  const RankData& data = rank.data();
  LastFound recorded(recorded_);
  LastFound replayed(replayed_);
  // A rank knows one recorded step time: the mean over its steps.
  const auto step_ns = data.facts.recorded_step_ns;
  for (const StepRecord& step : rank.steps()) {
    replayed({data.rank, step.step, step.iteration}).step_ns = step.duration_ns;
    if (step_ns) {
      recorded({data.rank, step.step, -1}).step_ns = *step_ns;
    }
  }
  for (std::size_t i = 0; i < data.nodes.size(); ++i) {
    const NodeInfo& node = data.nodes[i];
    if (!node.counts_for_coverage || node.step < 0) {  // outside the steps
      continue;
    }
    const auto c = static_cast<std::size_t>(node.op_class);
    present_[c] = true;
    recorded({data.rank, node.step, -1}).class_ns[c] += node.recorded_duration_ns;
    if (rank.IsTransfer(i)) {
      continue;
    }
    for (const std::uint32_t k : rank.Records(i)) {
      const NodeRecord& record = data.records[k];
      replayed({data.rank, record.step, record.iteration}).class_ns[c] += record.duration_ns;
    }
  }
}

void StepClassSums::AddTransfer(std::int32_t rank, const NodeInfo& node, const NodeRecord& record,
                                std::int64_t own_ns) {
  if (node.step >= 0) {
    replayed_[{rank, record.step, record.iteration}]
        .class_ns[static_cast<std::size_t>(node.op_class)] += own_ns;
  }
}

std::vector<std::size_t> StepClassSums::ClassesInOrder() const {
  std::array<std::int64_t, kOpClassCount> recorded_ns{};
  for (const auto& [unused, sum] : recorded_) {
    for (std::size_t c = 0; c < kOpClassCount; ++c) {
      recorded_ns[c] += sum.class_ns[c];
    }
  }
  std::vector<std::size_t> classes;
  for (std::size_t c = 0; c < kOpClassCount; ++c) {
    if (present_[c]) {
      classes.push_back(c);
    }
  }
  std::ranges::stable_sort(classes, std::greater{},
                           [&recorded_ns](std::size_t i) { return recorded_ns[i]; });
  return classes;
}

// The iterations whose times fit, and how many don't.
std::set<std::int32_t> StepClassSums::ChooseIterations(std::size_t classes, std::size_t most_cells,
                                                       std::int64_t& left_out) const {
  std::map<std::int32_t, std::size_t> rows;
  for (const auto& [key, unused] : replayed_) {
    ++rows[std::get<2>(key)];
  }
  std::set<std::int32_t> chosen;
  std::size_t cells = 0;
  for (const auto& [iteration, count] : rows) {
    cells += count * (classes + 1);
    if (chosen.empty() || cells <= most_cells) {
      chosen.insert(iteration);
    } else {
      ++left_out;
    }
  }
  return chosen;
}

StepClasses StepClassSums::Finish(std::size_t most_cells) const {
  StepClasses out;
  const std::vector<std::size_t> classes = ClassesInOrder();
  for (const std::size_t c : classes) {
    out.classes.emplace_back(Name(static_cast<OpClass>(c)));
  }
  const auto row = [&classes](const Key& key, const Sum& sum) {
    StepClassRow made{.rank = std::get<0>(key),
                      .step = std::get<1>(key),
                      .iteration = std::get<2>(key),
                      .step_ns = sum.step_ns,
                      .class_ns = {}};
    for (const std::size_t c : classes) {
      made.class_ns.push_back(sum.class_ns[c]);
    }
    return made;
  };
  for (const auto& [key, sum] : recorded_) {
    out.recorded.push_back(row(key, sum));
  }
  const std::set<std::int32_t> chosen =
      ChooseIterations(classes.size(), most_cells, out.iterations_left_out);
  for (const auto& [key, sum] : replayed_) {
    if (chosen.contains(std::get<2>(key))) {
      out.replayed.push_back(row(key, sum));
    }
  }
  return out;
}

StragglerSums::StragglerSums(std::span<const MeasuredRank> outline) : rows_(outline.size()) {
  for (std::size_t r = 0; r < outline.size(); ++r) {
    rows_[r].rank = outline[r].data().rank;
    passes_.push_back(std::max(1, outline[r].iterations()));
  }
}

void StragglerSums::Add(const MeasuredRun& part) {
  waits_.resize(part.transfers.times->executions());
  for (std::size_t r = 0; r < part.ranks.size(); ++r) {
    AddRank(part, r);
  }
}

void StragglerSums::AddRank(const MeasuredRun& part, std::size_t r) {
  const MeasuredRank& rank = part.ranks[r];
  const RankData& data = rank.data();
  const auto position = static_cast<std::uint32_t>(part.positions[r]);
  StragglerRow& row = rows_[position];
  for (std::size_t i = 0; i < data.collectives.size(); ++i) {
    const CollectiveInfo& info = data.collectives[i];
    const std::uint32_t number = part.transfers.number[r][i];
    if (number == RunTransfers::kNone || IsPointToPoint(info.spec.kind) || info.group_size < 2) {
      continue;
    }
    const std::uint32_t node = *rank.FindNode(info.node_id);
    const NodeInfo& recorded = data.nodes[node];
    if (recorded.recorded_elapsed_ns != NodeInfo::kUnknownNs) {
      row.recorded_waited_ns +=
          std::max<std::int64_t>(0, recorded.recorded_elapsed_ns - recorded.recorded_duration_ns);
    }
    for (const std::uint32_t k : rank.Records(node)) {
      const auto own_ns = part.transfers.OwnNs(r, k);
      if (!own_ns) {
        continue;
      }
      const NodeRecord& record = data.records[k];
      const std::int64_t waited_ns = std::max<std::int64_t>(0, record.duration_ns - *own_ns);
      ++row.transfers;
      row.replayed_waited_ns += waited_ns;
      Wait& wait = waits_[part.transfers.times->ExecutionOf(number, record.iteration)];
      ++wait.came;
      wait.members = info.group_size;
      wait.sum_ns += waited_ns;
      if (std::pair(waited_ns, position) < std::pair(wait.least_ns, wait.last)) {
        wait.least_ns = waited_ns;
        wait.last = position;
      }
    }
  }
}

std::vector<StragglerRow> StragglerSums::Finish() {
  for (const Wait& wait : waits_) {
    // Of classes of ranks not all members are in the run: the last one is not known.
    if (wait.came > 1 && wait.came == wait.members) {
      StragglerRow& last = rows_[wait.last];
      ++last.last;
      last.caused_ns += (wait.sum_ns - wait.least_ns) / (wait.came - 1);
    }
  }
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    rows_[r].replayed_waited_ns /= passes_[r];
    rows_[r].caused_ns /= passes_[r];
  }
  std::erase_if(rows_, [](const StragglerRow& row) {
    return row.transfers == 0 && row.recorded_waited_ns == 0;
  });
  return std::move(rows_);
}

}  // namespace reprise
