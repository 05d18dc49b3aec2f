#include "et_schema/columns/predict.h"

#include <algorithm>
#include <bit>

#include "et_schema/columns/number_model.h"

namespace reprise::columns {
namespace {

Beside BesideOf(const Block& block, std::uint32_t column) {
  return column == ColumnPlan::kNone ? Beside() : Beside(&block.columns[column]);
}

std::uint64_t ValueOr0(Beside& beside, std::uint32_t message, std::size_t k) {
  std::uint64_t value = 0;
  return beside.At(message, k, value) ? value : 0;
}

// From `from` on, in the logarithm of the distance: a column with few values must not walk through
// one with many.
std::size_t FirstAtLeast(const std::vector<std::uint32_t>& messages, std::size_t from,
                         std::uint32_t message) {
  std::size_t step = 1;
  std::size_t below = from;
  while (from < messages.size() && messages[from] < message) {
    below = from + 1;
    from += step;
    step *= 2;
  }
  const auto at = [&](std::size_t i) {
    return messages.begin() + static_cast<std::ptrdiff_t>(std::min(i, messages.size()));
  };
  return static_cast<std::size_t>(std::lower_bound(at(below), at(from), message) -
                                  messages.begin());
}

}  // namespace

void Beside::Find(std::uint32_t message) {
  begin_ = FirstAtLeast(column_->messages, end_, message);
  end_ = FirstAtLeast(column_->messages, begin_, message + 1);
}

bool Beside::At(std::uint32_t message, std::size_t k, std::uint64_t& value) {
  if (column_ == nullptr) {
    return false;
  }
  if (begin_ == end_ || column_->messages[begin_] != message) {
    Find(message);
  }
  if (begin_ == end_) {
    return false;
  }
  value = column_->values[std::min(begin_ + k, end_ - 1)];
  return true;
}

Lookup::Lookup(std::size_t keys)
    : bits_(std::clamp(static_cast<int>(std::bit_width(keys)) + 1, 4, 17)) {
  slots_.resize(std::size_t{1} << bits_);
}
std::size_t Lookup::At(std::uint64_t key) const { return Mix(key, 0) >> (64 - bits_); }
void Lookup::Set(std::uint64_t key, std::uint64_t value) { slots_[At(key)] = {key, value, true}; }
bool Lookup::Get(std::uint64_t key, std::uint64_t& value) const {
  const Slot& slot = slots_[At(key)];
  value = slot.value;
  return slot.used && slot.key == key;
}

Predictor::Predictor(const Block& block, const Column& column, std::size_t size)
    : column_(column),
      context_beside_(BesideOf(block, column.plan.context)),
      reference_(BesideOf(block, column.plan.reference)),
      id_(BesideOf(block, block.time.id)),
      deps_(BesideOf(block, block.time.deps)),
      duration_(BesideOf(block, block.time.duration)),
      delay_(BesideOf(block, block.time.delay)),
      stream_(BesideOf(block, block.time.stream)),
      thread_(BesideOf(block, block.time.thread)),
      latest_(column.plan.base == Base::kContext                                    ? size
              : column.plan.base == Base::kEnds || column.plan.base == Base::kActor ? block.messages
                                                                                    : 0) {}

std::uint64_t Predictor::LatestEnd(std::size_t i) {
  bool any = false;
  std::int64_t latest = 0;
  deps_.Find(message_);
  for (std::size_t d = deps_.begin(); d < deps_.end(); ++d) {
    std::uint64_t end = 0;
    if (latest_.Get(deps_.column()->values[d], end)) {
      latest =
          any ? std::max(latest, static_cast<std::int64_t>(end)) : static_cast<std::int64_t>(end);
      any = true;
    }
  }
  if (!any) {
    return i > 0 ? column_.values[i - 1] : 0;
  }
  return static_cast<std::uint64_t>(latest) + ValueOr0(delay_, message_, 0);
}

std::uint64_t Predictor::Actor(std::uint32_t message) {
  std::uint64_t number = 0;
  return stream_.At(message, 0, number) ? Mix(number, 1) : Mix(ValueOr0(thread_, message, 0), 2);
}

void Predictor::CatchUp() {
  for (; caught_up_ < message_; ++caught_up_) {
    std::uint64_t id = 0;
    if (id_.At(caught_up_, 0, id)) {
      latest_.Set(Actor(caught_up_), id);
    }
  }
}

std::uint64_t Predictor::Predict(std::size_t i) {
  const ColumnPlan& plan = column_.plan;
  k_ = column_.messages[i] == message_ ? k_ + 1 : 0;
  message_ = column_.messages[i];
  std::uint64_t beside = 0;
  context_ = context_beside_.At(message_, k_, beside) ? beside + 1 : 0;
  if (plan.lag > 1) {
    context_ = Mix(context_, k_ % plan.lag);
  }
  std::uint64_t value = 0;
  switch (plan.base) {
    case Base::kBefore:
      return i >= plan.lag ? column_.values[i - plan.lag] : 0;
    case Base::kContext:
      return latest_.Get(context_, value) ? value : 0;
    case Base::kBeside:
      return ValueOr0(reference_, message_, k_);
    case Base::kThousandth: {
      const auto whole = static_cast<std::int64_t>(ValueOr0(reference_, message_, k_));
      return whole > 0 ? static_cast<std::uint64_t>(whole) / 1000 : 0;
    }
    case Base::kEnds:
      return LatestEnd(i);
    case Base::kActor:
      CatchUp();
      return latest_.Get(Actor(message_), value) ? value : 0;
    default:
      return 0;
  }
}

void Predictor::Learn(std::size_t i) {
  const std::uint64_t value = column_.values[i];
  if (column_.plan.base == Base::kContext) {
    latest_.Set(context_, value);
  } else if (column_.plan.base == Base::kEnds) {
    latest_.Set(ValueOr0(id_, message_, 0), value + ValueOr0(duration_, message_, 0));
  }
}

}  // namespace reprise::columns
