// Plans between ranks: encoding, exchange, and what one rank's sizes tell about another's splits.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "collectives/communicator.h"
#include "collectives/layout.h"
#include "collectives/sequences.h"

namespace reprise {
namespace {

// Little-endian by assumption: ranks of one run share an architecture, and nothing is stored.
class Writer {
 public:
  template <typename T>
  void Put(T value) {
    static_assert(std::is_trivially_copyable_v<T>);
    const auto* bytes = reinterpret_cast<const char*>(&value);
    text_.append(bytes, sizeof(T));
  }
  void PutString(const std::string& text) {
    Put(static_cast<std::uint32_t>(text.size()));
    text_ += text;
  }
  void PutList(const std::vector<std::int64_t>& list) {
    Put(static_cast<std::uint32_t>(list.size()));
    for (const std::int64_t value : list) {
      Put(value);
    }
  }
  std::string Take() { return std::move(text_); }

 private:
  std::string text_;
};

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}
  template <typename T>
  T Get() {
    T value{};
    if (text_.size() < sizeof(T)) {
      ok_ = false;
      text_ = {};
      return value;
    }
    std::memcpy(&value, text_.data(), sizeof(T));
    text_.remove_prefix(sizeof(T));
    return value;
  }
  std::string GetString() {
    const auto size = Get<std::uint32_t>();
    if (size > text_.size()) {
      ok_ = false;
      return {};
    }
    std::string result(text_.substr(0, size));
    text_.remove_prefix(size);
    return result;
  }
  std::vector<std::int64_t> GetList() {
    const auto size = Get<std::uint32_t>();
    std::vector<std::int64_t> list;
    for (std::uint32_t i = 0; i < size && ok_; ++i) {
      list.push_back(Get<std::int64_t>());
    }
    return list;
  }
  [[nodiscard]] bool ok() const { return ok_; }
  [[nodiscard]] bool AtEnd() const { return text_.empty(); }

 private:
  std::string_view text_;
  bool ok_ = true;
};

void Encode(const PlannedTransfer& planned, Writer& writer) {
  const CommSpec& spec = planned.spec;
  writer.Put(planned.node_id);
  writer.Put(spec.kind);
  writer.PutString(spec.group);
  writer.Put(spec.certainty);
  writer.Put(spec.index);
  writer.Put(spec.sequence);
  writer.Put(spec.dtype);
  writer.Put(spec.in_bytes);
  writer.Put(spec.out_bytes);
  writer.PutList(spec.in_splits);
  writer.PutList(spec.out_splits);
  writer.Put(spec.root);
  writer.Put(spec.peer);
  writer.Put(spec.tag);
  writer.Put(spec.op);
  writer.Put(spec.op_recorded);
  writer.Put(spec.async);
  writer.Put(spec.outside);
}

PlannedTransfer Decode(Reader& reader) {
  PlannedTransfer planned;
  CommSpec& spec = planned.spec;
  planned.node_id = reader.Get<std::uint64_t>();
  spec.kind = reader.Get<CommKind>();
  spec.group = reader.GetString();
  spec.certainty = reader.Get<GroupCertainty>();
  spec.index = reader.Get<std::int64_t>();
  spec.sequence = reader.Get<std::int64_t>();
  spec.dtype = reader.Get<DType>();
  spec.in_bytes = reader.Get<std::int64_t>();
  spec.out_bytes = reader.Get<std::int64_t>();
  spec.in_splits = reader.GetList();
  spec.out_splits = reader.GetList();
  spec.root = reader.Get<std::int32_t>();
  spec.peer = reader.Get<std::int32_t>();
  spec.tag = reader.Get<std::int32_t>();
  spec.op = reader.Get<ReduceOp>();
  spec.op_recorded = reader.Get<bool>();
  spec.async = reader.Get<bool>();
  spec.outside = reader.Get<bool>();
  return planned;
}

// The splits of one list kind, from what each member says of its own share; empty if even anyway.
using Members = std::vector<PlannedTransfer*>;  // of one collective, in group order

void FillFromShares(const Members& members, bool share_is_in) {
  std::vector<std::int64_t> splits;
  bool uneven = false;
  for (const PlannedTransfer* member : members) {
    const CommSpec& spec = member->spec;
    const auto& known = share_is_in ? spec.out_splits : spec.in_splits;
    uneven = uneven || !known.empty();
    splits.push_back((share_is_in ? spec.in_bytes : spec.out_bytes) /
                     std::max(1, SizeOf(spec.dtype)));
    uneven = uneven || splits.back() != splits.front();
  }
  if (!uneven) {
    return;
  }
  for (PlannedTransfer* member : members) {
    auto& known = share_is_in ? member->spec.out_splits : member->spec.in_splits;
    if (known.empty()) {
      known = splits;
    }
  }
}

void FillAllToAll(const Members& members) {
  const auto has_splits = [](const PlannedTransfer* member) {
    return !member->spec.in_splits.empty() || !member->spec.out_splits.empty();
  };
  if (std::none_of(members.begin(), members.end(), has_splits)) {
    return;
  }
  const auto size = static_cast<std::int64_t>(members.size());
  for (PlannedTransfer* member : members) {
    CommSpec& spec = member->spec;
    const std::int64_t unit = std::max(1, SizeOf(spec.dtype)) * size;
    const auto even = [&](std::vector<std::int64_t>& splits, std::int64_t bytes) {
      if (splits.empty() && bytes % unit == 0) {
        splits.assign(members.size(), bytes / unit);
      }
    };
    even(spec.in_splits, spec.in_bytes);
    even(spec.out_splits, spec.out_bytes);
  }
}

void FillSplits(const Members& members) {
  const CommKind kind = members.front()->spec.kind;
  const bool same = std::all_of(members.begin(), members.end(),
                                [kind](const auto* member) { return member->spec.kind == kind; });
  if (!same) {
    return;  // a mismatch, which MatchTransfers tells
  }
  if (kind == CommKind::kAllGather || kind == CommKind::kGather) {
    FillFromShares(members, true);
  } else if (kind == CommKind::kReduceScatter || kind == CommKind::kScatter) {
    FillFromShares(members, false);
  } else if (kind == CommKind::kAllToAll) {
    FillAllToAll(members);
  }
}

}  // namespace

Result<std::vector<std::vector<PlannedTransfer>>> ExchangePlans(
    Communicator& communicator, const std::vector<PlannedTransfer>& mine) {
  Writer writer;
  for (const PlannedTransfer& planned : mine) {
    Encode(planned, writer);
  }
  REPRISE_ASSIGN(const std::vector<std::string> texts, communicator.AllGather(writer.Take()));
  std::vector<std::vector<PlannedTransfer>> plans(texts.size());
  for (std::size_t rank = 0; rank < texts.size(); ++rank) {
    Reader reader(texts[rank]);
    while (!reader.AtEnd()) {
      plans[rank].push_back(Decode(reader));
      if (!reader.ok()) {
        return BadInput(fmt::format(
            "the plan of rank {} does not decode: another version of this program?", rank));
      }
    }
  }
  return plans;
}

void CompleteSplits(std::vector<std::vector<PlannedTransfer>>& plans,
                    const RanksOfGroup& ranks_of_group) {
  const Sequences sequences(plans);
  for (const auto& [key, by_rank] : sequences.all()) {
    if (key.IsPointToPoint()) {
      continue;
    }
    const std::vector<std::int32_t> ranks = ranks_of_group(key.group);
    std::size_t length = ranks.empty() ? 0 : SIZE_MAX;
    for (const std::int32_t rank : ranks) {
      const auto it = by_rank.find(rank);
      length = std::min(length, it == by_rank.end() ? 0 : it->second.size());
    }
    for (std::size_t n = 0; n < length; ++n) {
      Members members;
      for (const std::int32_t rank : ranks) {
        const std::size_t position = by_rank.at(rank)[n];
        members.push_back(&plans[static_cast<std::size_t>(rank)][position]);
      }
      FillSplits(members);
    }
  }
}

}  // namespace reprise
