#include "predict/transform/graph_edit.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "core/nanoseconds.h"
#include "predict/simulator/device_operations.h"
#include "predict/transform/transfer_sizes.h"
#include "replayer/plan/known_work.h"

namespace reprise {
namespace {

using Index = Graph::Index;

std::int64_t TimeAfter(const Rule& rule, std::int64_t ns) {
  switch (rule.action) {
    case RuleAction::kScale:
      // What is negative contradicts causality in the recording, and stays as it is.
      return ns < 0 ? ns : NsOf(static_cast<double>(ns) * rule.factor);
    case RuleAction::kTime:
      return rule.number;
    case RuleAction::kRemove:
      return 0;
    default:
      return ns;
  }
}

// Its tensors are of the old size.
void MarkResized(Node& node) {
  node.inputs.clear();
  node.outputs.clear();
  node.rescaled = Rescaled::kSize;
}

bool IsOfTransfers(RuleAction action) {
  return action == RuleAction::kResize || action == RuleAction::kDtype ||
         action == RuleAction::kBucket;
}

}  // namespace

GraphEdit::GraphEdit(const Graph& graph, std::int32_t rank, std::span<const Rule> rules,
                     FindRuleGroup find_group, Times times)
    : graph_(&graph),
      rank_(rank),
      rules_(rules),
      find_group_(std::move(find_group)),
      times_(times),
      timed_(HasDurations(graph)),
      edges_(graph) {}

Result<GraphEdit> GraphEdit::Create(const Graph& graph, std::int32_t rank,
                                    std::span<const Rule> rules, const FindRuleGroup& find_group,
                                    Times times, std::vector<RuleEffect>& effects) {
  GraphEdit edit(graph, rank, rules, find_group, times);
  REPRISE_TRY(edit.Apply(effects));
  return edit;
}

Status GraphEdit::Apply(std::vector<RuleEffect>& effects) {
  REPRISE_ASSIGN(const auto found, MatchRules(*graph_, rank_, rules_, find_group_));
  for (std::size_t r = 0; r < rules_.size(); ++r) {
    std::vector<bool>& matched = matched_.emplace_back(graph_->size());
    for (const Index i : found[r]) {
      matched[i] = true;
    }
    if (found[r].empty()) {
      continue;
    }
    CountTimes(rules_[r], found[r], effects[r]);
    REPRISE_TRY(ApplyRule(rules_[r], found[r]));
    structure_ = structure_ || rules_[r].ChangesStructure();
  }
  if (structure_) {
    edges_.Finish();
    NumberTransfers();
  }
  return {};
}

std::int64_t GraphEdit::OwnNs(Index i) const {
  return graph_->comm(i) != nullptr && graph_->transfer_ns(i) >= 0 ? graph_->transfer_ns(i)
                                                                   : graph_->duration_ns(i);
}

void GraphEdit::CountTimes(const Rule& rule, std::span<const Index> nodes,
                           RuleEffect& effect) const {
  for (const Index i : nodes) {
    ++effect.nodes;
    if (!HasTime(i)) {
      ++effect.nodes_without_time;
      continue;
    }
    const std::int64_t ns = std::max<std::int64_t>(OwnNs(i), 0);
    effect.recorded_ns += ns;
    effect.changed_ns += TimeAfter(rule, ns);
  }
}

Status GraphEdit::ApplyRule(const Rule& rule, std::span<const Index> nodes) {
  REPRISE_TRY(CheckTransfers(rule, nodes));
  switch (rule.action) {
    case RuleAction::kScale:
    case RuleAction::kTime:
    case RuleAction::kDelay:
      ChangeBeside(rule, nodes);
      break;
    case RuleAction::kRemove:
      for (const Index i : nodes) {
        edges_.Remove(i);
      }
      break;
    case RuleAction::kBucket:
      Bucket(rule, nodes);
      break;
    case RuleAction::kStream:
      edges_.Move(nodes, {Actor::Kind::kStream, rule.stream, rule.device});
      break;
    case RuleAction::kSerialise:
      edges_.Serialise(nodes);
      break;
    case RuleAction::kAlone: {
      std::vector<Index> others;
      const bool streams = HasStreams({graph_, 1});
      for (Index i = 0; i < graph_->size(); ++i) {
        if (graph_->comm(i) != nullptr || IsOperation(*graph_, i, streams)) {
          others.push_back(i);
        }
      }
      edges_.KeepApart(nodes, others);
      break;
    }
    default:
      break;
  }
  return {};
}

Status GraphEdit::CheckTransfers(const Rule& rule, std::span<const Index> nodes) const {
  for (const Index i : nodes) {
    const CommSpec* const spec = graph_->comm(i);
    const auto fail = [&](std::string_view why) {
      return BadInput(fmt::format("rule \"{}\": rank {} node {} ({}) {}", rule.text, rank_,
                                  graph_->id(i), graph_->name(i), why));
    };
    if (IsOfTransfers(rule.action)) {
      if (spec == nullptr) {
        return fail("is no transfer; add kind= or class=comm");
      }
      if (!spec->bytes_known) {
        return fail("has no known size");
      }
      if (rule.action == RuleAction::kDtype && spec->dtype == DType::kUnknown) {
        return fail("has no known type: how many elements it has is not known");
      }
      if (rule.action == RuleAction::kBucket && spec->kind != CommKind::kAllReduce) {
        return fail("is no all_reduce; buckets are of these alone: add kind=all_reduce");
      }
    }
    if (rule.action == RuleAction::kStream && graph_->actor(i).kind != Actor::Kind::kStream) {
      return fail("is on no stream of a device");
    }
  }
  return {};
}

// A bucket ends with the transfer that fills it, which is the last to be issued.
void GraphEdit::Bucket(const Rule& rule, std::span<const Index> nodes) {
  std::map<std::string, std::vector<Index>> by_group;
  for (const Index i : nodes) {
    by_group[graph_->comm(i)->group].push_back(i);
  }
  const auto flush = [this](std::vector<Index>& bucket) {
    while (bucket.size() > 1) {
      const Index i = bucket.front();
      bucket.erase(bucket.begin());
      Sum& sum = buckets_[bucket.back()];
      sum.bytes += graph_->comm(i)->in_bytes;
      sum.duration_ns += graph_->duration_ns(i);
      sum.transfer_ns += std::max<std::int64_t>(graph_->transfer_ns(i), 0);
      edges_.Merge(i, bucket.back());
    }
    bucket.clear();
  };
  for (auto& [group, transfers] : by_group) {
    std::ranges::sort(transfers, {}, [this](Index i) { return graph_->comm(i)->index; });
    std::vector<Index> bucket;
    std::int64_t bytes = 0;
    for (const Index i : transfers) {
      const CommSpec& spec = *graph_->comm(i);
      const CommSpec* const last = bucket.empty() ? nullptr : graph_->comm(bucket.back());
      if (last != nullptr && (last->dtype != spec.dtype || last->op != spec.op)) {
        flush(bucket);
        bytes = 0;
      }
      bucket.push_back(i);
      bytes += spec.in_bytes;
      if (bytes >= rule.number) {
        flush(bucket);
        bytes = 0;
      }
    }
    flush(bucket);
  }
}

void GraphEdit::ChangeBeside(const Rule& rule, std::span<const Index> nodes) {
  for (const Index i : nodes) {
    if (!IsBeside(i)) {
      continue;
    }
    TimeChange& change = changes_[graph_->id(i)];
    if (rule.action == RuleAction::kScale) {
      change.factor *= rule.factor;
    } else if (rule.action == RuleAction::kTime) {
      change.ns = rule.number;
      change.factor = 1;
    } else {
      change.delay_ns += rule.number;
    }
  }
}

// What follows in a sequence moves up where some of it is gone: ranks match by position.
void GraphEdit::NumberTransfers() {
  std::map<SequenceKey, std::vector<Index>> sequences;
  std::map<SequenceKey, bool> shorter;
  for (Index i = 0; i < graph_->size(); ++i) {
    if (const CommSpec* const spec = graph_->comm(i)) {
      const SequenceKey key = SequenceOf(*spec, rank_);
      sequences[key].push_back(i);
      shorter[key] = shorter[key] || edges_.IsGone(i);
    }
  }
  for (auto& [key, transfers] : sequences) {
    if (!shorter[key]) {
      continue;
    }
    std::ranges::stable_sort(transfers, {}, [this](Index i) { return graph_->comm(i)->index; });
    std::int64_t gone = 0;
    for (const Index i : transfers) {
      gone += edges_.IsGone(i) ? 1 : 0;
      index_[i] = graph_->comm(i)->index - gone;
    }
  }
}

void GraphEdit::ChangeNode(const Rule& rule, Index i, Node& node) const {
  const bool keeps_label = node.rescaled != Rescaled::kNo;  // says that its time is of another size
  if (IsOfTransfers(rule.action)) {
    CommSpec& spec = *node.comm;
    if (rule.action == RuleAction::kDtype) {
      RetypeTransfer(rule.dtype, spec);
    } else if (rule.action == RuleAction::kResize) {
      const std::int64_t members = find_group_(spec.group).members;
      rule.factor > 0 ? ScaleTransfer(rule.factor, members, spec)
                      : ResizeTransfer(rule.number, members, spec);
    }
    MarkResized(node);
    return;
  }
  node.rescaled = keeps_label ? node.rescaled : Rescaled::kRule;
  if (IsBeside(i)) {
    return;
  }
  if (rule.action == RuleAction::kDelay) {
    node.delay_ns += rule.number;
  } else if (node.comm && node.transfer_ns >= 0) {
    const std::int64_t after_ns = TimeAfter(rule, node.transfer_ns);
    node.duration_ns += after_ns - node.transfer_ns;
    node.transfer_ns = after_ns;
  } else {
    node.duration_ns = TimeAfter(rule, node.duration_ns);
  }
}

bool GraphEdit::Change(Index i, Node& node) const {
  if (edges_.IsGone(i)) {
    return false;
  }
  if (structure_) {
    node.deps = edges_.Of(i);
    node.delay_ns += edges_.RootDelayNs(i);
    node.actor = edges_.ActorOf(i);
    if (const auto index = index_.find(i); index != index_.end()) {
      node.comm->index = index->second;
    }
  }
  if (const auto bucket = buckets_.find(i); bucket != buckets_.end()) {
    const Sum& sum = bucket->second;
    CommSpec& spec = *node.comm;
    spec.in_bytes += sum.bytes;
    spec.out_bytes = spec.in_bytes;
    spec.largest_bytes = spec.largest_bytes < 0 ? -1 : spec.in_bytes;
    node.duration_ns += sum.duration_ns;
    node.transfer_ns += node.transfer_ns < 0 ? 0 : sum.transfer_ns;
    MarkResized(node);
  }
  for (std::size_t r = 0; r < rules_.size(); ++r) {
    if (matched_[r][i] && rules_[r].action != RuleAction::kBucket) {
      ChangeNode(rules_[r], i, node);
    }
  }
  return true;
}

Result<Graph> GraphEdit::Edited() const {
  return graph_->Rewrite(graph_->metadata(),
                         [this](Index i, Node& node) { return Change(i, node); });
}

}  // namespace reprise
