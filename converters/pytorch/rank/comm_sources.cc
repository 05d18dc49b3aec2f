#include "converters/pytorch/rank/comm_sources.h"

#include <array>
#include <string>

#include "converters/pytorch/rank/nccl.h"

namespace reprise::pytorch {
namespace {

std::optional<std::int64_t> IntegerAt(const ValueList& list, std::size_t at) {
  const auto* number = at < list.size() ? std::get_if<std::int64_t>(&list[at].data) : nullptr;
  return number == nullptr ? std::nullopt : std::optional(*number);
}

std::vector<std::int64_t> IntegersAt(const ValueList& list, std::size_t at) {
  std::vector<std::int64_t> out;
  const ValueList* const items = at < list.size() ? list[at].AsList() : nullptr;
  for (std::size_t i = 0; items != nullptr && i < items->size(); ++i) {
    const std::optional<std::int64_t> number = IntegerAt(*items, i);
    if (!number) {
      return {};
    }
    out.push_back(*number);
  }
  return out;
}

// [sequence, is point-to-point], or the number alone.
std::optional<std::int64_t> SequenceAt(const ValueList& list, std::size_t at) {
  const ValueList* const pair = at < list.size() ? list[at].AsList() : nullptr;
  return pair != nullptr ? IntegerAt(*pair, 0) : IntegerAt(list, at);
}

// ["0", "default_pg"], or the name alone.
void ReadGroup(const ValueList& list, std::size_t at, CommAttributes& out) {
  const ValueList* const pair = list[at].AsList();
  const auto text = [](const Value& value) {
    const std::string* const string = value.AsString();
    return string == nullptr ? std::string() : *string;
  };
  if (pair == nullptr) {
    out.group_name = text(list[at]);
  } else if (!pair->empty()) {
    out.group_name = text(pair->front());
    out.group_description = pair->size() > 1 ? text((*pair)[1]) : "";
  }
}

// The inputs of record_param_comms. The tensors come first, or (a barrier) there are none; then
//   sequence, group, rank, name of the collective, splits in, splits out,
//   and since PyTorch 2.3: first global rank, distance of ranks, size of the group.
// The name is the last text among them.
CommAttributes ReadInputs(const ValueList& inputs) {
  constexpr std::size_t kBeforeName = 3;
  CommAttributes out;
  std::size_t name = inputs.size();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    name = inputs[i].AsString() != nullptr ? i : name;
  }
  if (name == inputs.size() || name < kBeforeName) {
    out.sequence =
        inputs.size() > 1 && inputs[1].AsList() != nullptr ? SequenceAt(inputs, 1) : std::nullopt;
    out.rank = IntegerAt(inputs, kBeforeName);
    return out;
  }
  out.collective = *inputs[name].AsString();
  out.sequence = SequenceAt(inputs, name - 3);
  ReadGroup(inputs, name - 2, out);
  out.rank = IntegerAt(inputs, name - 1);
  out.in_splits = IntegersAt(inputs, name + 1);
  out.out_splits = IntegersAt(inputs, name + 2);
  out.rank_start = IntegerAt(inputs, name + 3);
  out.rank_stride = IntegerAt(inputs, name + 4);
  out.group_size = IntegerAt(inputs, name + 5);
  return out;
}

template <typename T>
void TakeAbsent(std::optional<T>& have, const std::optional<T>& more) {
  have = have ? have : more;
}

void Add(const CommAttributes& more, CommAttributes& out) {
  if (out.collective.empty()) {
    out.collective = more.collective;
  }
  if (out.dtype.empty()) {
    out.dtype = more.dtype;
  }
  if (out.group_name.empty()) {
    out.group_name = more.group_name;
    out.group_description = more.group_description;
  }
  if (!out.in_elements && !out.out_elements && !out.in_bytes && !out.out_bytes) {
    out.in_elements = more.in_elements;
    out.out_elements = more.out_elements;
    out.in_bytes = more.in_bytes;
    out.out_bytes = more.out_bytes;
  }
  if (out.in_splits.empty() && out.out_splits.empty()) {
    out.in_splits = more.in_splits;
    out.out_splits = more.out_splits;
    out.splits_cut |= more.splits_cut;
  }
  if (out.ranks.empty()) {
    out.ranks = more.ranks;
    out.ranks_cut |= more.ranks_cut;
  }
  if (!out.rank_start || !out.rank_stride) {
    out.rank_start = more.rank_start;
    out.rank_stride = more.rank_stride;
  }
  TakeAbsent(out.group_size, more.group_size);
  TakeAbsent(out.rank, more.rank);
  TakeAbsent(out.source, more.source);
  TakeAbsent(out.destination, more.destination);
  TakeAbsent(out.sequence, more.sequence);
  out.async |= more.async;
}

}  // namespace

std::optional<CommKind> KindOf(const CommSources& sources) {
  const CommAttributes inputs =
      sources.record != nullptr ? ReadInputs(sources.record->inputs) : CommAttributes();
  const auto collective = [](const CommAttributes* comm) {
    return comm == nullptr ? std::string_view() : std::string_view(comm->collective);
  };
  const auto name = [](const HostNode* node) {
    return node == nullptr ? std::string_view() : std::string_view(*node->name);
  };
  const std::array said = {
      collective(sources.kernel),
      collective(sources.kineto),
      sources.record == nullptr ? std::string_view() : collective(sources.record->comm.get()),
      std::string_view(inputs.collective),
      sources.call_name,
      name(sources.leaf),
      sources.annotation};
  for (const std::string_view text : said) {
    if (const std::optional<CommKind> kind = ParseCommKind(text)) {
      return kind;
    }
  }
  return sources.kernel_name.empty() ? std::nullopt : ParseNcclName(sources.kernel_name).kind;
}

CommAttributes Combine(const CommSources& sources) {
  CommAttributes out;
  for (const CommAttributes* comm : {sources.kernel, sources.kineto}) {
    if (comm != nullptr) {
      Add(*comm, out);
    }
  }
  if (sources.record != nullptr) {
    if (sources.record->comm != nullptr) {
      Add(*sources.record->comm, out);
    }
    Add(ReadInputs(sources.record->inputs), out);
  }
  return out;
}

}  // namespace reprise::pytorch
