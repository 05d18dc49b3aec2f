#include "et_schema/rank_columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "core/input_file.h"
#include "et_schema/message_reader.h"

namespace reprise {
namespace {

constexpr std::int64_t kNsPerMicrosecond = 1000;

// Damaged records hold any numbers.
std::int64_t WrappingSum(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}
std::int64_t WrappingDifference(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
}

// How a number differs from the reference's.
enum class Differs : std::uint8_t {
  kAlone,  // by itself
  kDrift,  // by as much as the one before
  kMeans,  // as the same number of the reference did before; a new one by as much as the last new
};
Differs HowDiffers(NumberKind kind) {
  switch (kind) {
    case NumberKind::kId:
    case NumberKind::kRfId:
    case NumberKind::kSeqId:
    case NumberKind::kIndex:
    case NumberKind::kSequence:
    case NumberKind::kIssuedNs:
    case NumberKind::kNoticedStartNs:
    case NumberKind::kNoticedEndNs:
      return Differs::kDrift;
    case NumberKind::kArgument0:
    case NumberKind::kArgument1:
    case NumberKind::kThread:
    case NumberKind::kStreamId:
    case NumberKind::kDeviceId:
    case NumberKind::kLaunch:
    case NumberKind::kSource:
    case NumberKind::kDestination:
    case NumberKind::kGroupId:
    case NumberKind::kRoot:
    case NumberKind::kPeer:
    case NumberKind::kIncarnation:
      return Differs::kMeans;
    default:
      return Differs::kAlone;
  }
}

// Nodes of different actors change places; a rank that lacks a node must not stay one behind.
constexpr std::uint32_t kMostOutOfOrder = 64;

}  // namespace

std::uint32_t FormTable::NumberOf(const std::string& key) {
  const auto known = numbers_.find(key);
  if (known != numbers_.end()) {
    return known->second;
  }
  const std::uint32_t number = size();
  static_cast<void>(Add(key));  // SplitMessage gives forms
  return number;
}

bool FormTable::Add(std::string key) {
  numbers_.emplace(key, size());
  return MessageForm::Parse(std::move(key), forms_.emplace_back());
}

NumberRelations::Places NumberRelations::PlacesIn(const MessageForm& form) {
  return {form.PlaceOf(NumberKind::kId),
          form.PlaceOf(NumberKind::kStartMicros),
          form.PlaceOf(NumberKind::kDurationMicros),
          form.PlaceOf(NumberKind::kStartNs),
          form.PlaceOf(NumberKind::kDurationNs),
          form.PlaceOf(NumberKind::kDelayNs)};
}

template <bool kBack>
void NumberRelations::Dependencies(const MessageForm& form, std::int64_t id,
                                   std::vector<std::int64_t>& numbers) {
  latest_end_ = std::numeric_limits<std::int64_t>::min();
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const NumberKind kind = form.kinds()[i];
    if (kind != NumberKind::kDataDependency && kind != NumberKind::kControlDependency) {
      continue;
    }
    // Even: nodes before this one. Odd: none of those; the distance of ids.
    const auto count = static_cast<std::int64_t>(taken_.size());
    std::int64_t place = -1;
    if (kBack) {
      const std::int64_t value = numbers[i];
      if ((value & 1) != 0) {
        numbers[i] = WrappingDifference(id, value >> 1);
      } else if (value >> 1 > 0 && value >> 1 <= count) {
        place = count - (value >> 1);
        numbers[i] = taken_[static_cast<std::size_t>(place)].id;
      }
    } else if (const auto known = order_.find(numbers[i]); known != order_.end()) {
      place = known->second;
      numbers[i] = 2 * (count - place);
    } else {
      numbers[i] = static_cast<std::int64_t>(
          static_cast<std::uint64_t>(WrappingDifference(id, numbers[i])) << 1 | 1);
    }
    if (place >= 0 && kind == NumberKind::kDataDependency) {
      latest_end_ = std::max(latest_end_, taken_[static_cast<std::size_t>(place)].end);
    }
  }
}

void NumberRelations::TookNode(std::int64_t id, std::int64_t end) {
  order_.insert_or_assign(id, static_cast<std::uint32_t>(taken_.size()));
  taken_.push_back({id, end});
}

void NumberRelations::Relate(const MessageForm& form, std::vector<std::int64_t>& numbers) {
  const Places at = PlacesIn(form);
  const auto number = [&numbers](int place) -> std::int64_t {
    return place < 0 ? 0 : numbers[static_cast<std::size_t>(place)];
  };
  const std::int64_t id = number(at.id);
  const std::int64_t start = number(at.start);
  const std::int64_t duration = number(at.duration);
  Dependencies<false>(form, id, numbers);
  if (at.start_micros >= 0) {
    std::int64_t& micros = numbers[static_cast<std::size_t>(at.start_micros)];
    micros = WrappingDifference(micros, start / kNsPerMicrosecond);
  }
  if (at.duration_micros >= 0) {
    std::int64_t& micros = numbers[static_cast<std::size_t>(at.duration_micros)];
    micros = WrappingDifference(micros, duration / kNsPerMicrosecond);
  }
  if (at.start >= 0 && latest_end_ != std::numeric_limits<std::int64_t>::min()) {
    numbers[static_cast<std::size_t>(at.start)] =
        WrappingDifference(start, WrappingSum(latest_end_, number(at.delay)));
  }
  TookNode(id, WrappingSum(start, duration));
}

void NumberRelations::Restore(const MessageForm& form, std::vector<std::int64_t>& numbers) {
  const Places at = PlacesIn(form);
  const auto number = [&numbers](int place) -> std::int64_t {
    return place < 0 ? 0 : numbers[static_cast<std::size_t>(place)];
  };
  const std::int64_t id = number(at.id);
  Dependencies<true>(form, id, numbers);
  if (at.start >= 0 && latest_end_ != std::numeric_limits<std::int64_t>::min()) {
    std::int64_t& start = numbers[static_cast<std::size_t>(at.start)];
    start = WrappingSum(start, WrappingSum(latest_end_, number(at.delay)));
  }
  const std::int64_t start = number(at.start);
  const std::int64_t duration = number(at.duration);
  if (at.start_micros >= 0) {
    std::int64_t& micros = numbers[static_cast<std::size_t>(at.start_micros)];
    micros = WrappingSum(micros, start / kNsPerMicrosecond);
  }
  if (at.duration_micros >= 0) {
    std::int64_t& micros = numbers[static_cast<std::size_t>(at.duration_micros)];
    micros = WrappingSum(micros, duration / kNsPerMicrosecond);
  }
  TookNode(id, WrappingSum(start, duration));
}

Result<std::shared_ptr<const ReferenceRank>> ReferenceRank::Read(const std::string& path) {
  REPRISE_ASSIGN(MessageReader messages, MessageReader::Open(path));
  auto rank = std::make_shared<ReferenceRank>();
  std::string_view message;
  REPRISE_ASSIGN(const bool found, messages.Next(message));
  if (!found) {
    return BadInput(fmt::format("{}: empty, expected an .et file", path));
  }
  rank->header_ = message;
  rank->bytes_ = message.size();
  rank->file_bytes_ = messages.file_bytes();
  NumberRelations relations;
  std::string key;
  std::vector<std::int64_t> numbers;
  while (true) {
    REPRISE_ASSIGN(const bool more, messages.Next(message));
    if (!more) {
      break;
    }
    REPRISE_TRY(CheckNodeCount(path, rank->nodes(), messages.offset(), messages.file_bytes()));
    rank->bytes_ += message.size();
    SplitMessage(message, key, numbers);
    const std::uint32_t form = rank->forms_.NumberOf(key);
    relations.Relate(rank->forms_.at(form), numbers);
    rank->nodes_of_form_.resize(rank->forms_.size());
    rank->nodes_of_form_[form].push_back(rank->nodes());
    rank->form_of_.push_back(form);
    rank->first_number_.push_back(rank->numbers_.size());
    rank->numbers_.insert(rank->numbers_.end(), numbers.begin(), numbers.end());
  }
  return rank;
}

RankPrediction::RankPrediction(const ReferenceRank& reference)
    : reference_(reference), forms_(reference.forms().size()), used_(reference.nodes()) {}

std::uint32_t RankPrediction::Form() const {
  return next_ < reference_.nodes() ? reference_.FormOf(next_) : 0;
}

void RankPrediction::TookForm(std::uint32_t form, std::size_t numbers) {
  if (form >= forms_.size()) {
    forms_.resize(form + 1);
  }
  form_ = &forms_[form];
  like_ = nullptr;
  if (form >= reference_.forms().size()) {
    form_->last.resize(numbers);
    return;
  }
  const std::vector<std::uint32_t>& nodes = reference_.NodesOfForm(form);
  std::size_t& next = form_->next;
  while (next + 1 < nodes.size() && nodes[next] + kMostOutOfOrder < furthest_) {
    ++next;
  }
  const std::uint32_t node = nodes[std::min(next, nodes.size() - 1)];
  next = std::min(next + 1, nodes.size());
  like_ = reference_.NumbersOf(node);
  used_[node] = true;
  next_ = node + 1;
  furthest_ = std::max(furthest_, next_);
  for (std::uint32_t i = 0; i < kMostOutOfOrder && next_ < used_.size() && used_[next_]; ++i) {
    ++next_;
  }
}

std::int64_t RankPrediction::Number(NumberKind kind, std::size_t place) const {
  const KindState& state = kinds_[static_cast<std::size_t>(kind)];
  const Differs differs = HowDiffers(kind);
  if (like_ == nullptr) {
    return differs == Differs::kAlone ? form_->last[place] : state.last;
  }
  if (differs == Differs::kAlone) {
    return like_[place];
  }
  if (differs == Differs::kMeans) {
    if (const auto known = state.meant.find(like_[place]); known != state.meant.end()) {
      return known->second;
    }
  }
  return WrappingSum(like_[place], state.drift);
}

void RankPrediction::TookNumber(NumberKind kind, std::size_t place, std::int64_t number) {
  const Differs differs = HowDiffers(kind);
  if (like_ == nullptr) {
    form_->last[place] = number;
  }
  if (differs == Differs::kAlone) {
    return;
  }
  KindState& state = kinds_[static_cast<std::size_t>(kind)];
  state.last = number;
  if (like_ == nullptr) {
    return;
  }
  if (differs == Differs::kDrift || state.meant.insert_or_assign(like_[place], number).second) {
    state.drift = WrappingDifference(number, like_[place]);
  }
}

RankEncoder::RankEncoder(std::shared_ptr<const ReferenceRank> reference)
    : reference_(std::move(reference)), prediction_(*reference_) {}

void RankEncoder::Add(std::string_view message) {
  SplitMessage(message, key_, numbers_);
  const FormTable& shared = reference_->forms();
  std::uint32_t form = shared.Find(key_);
  if (form == FormTable::kNone) {
    if (own_.Find(key_) == FormTable::kNone) {
      own_keys_.push_back(key_);
    }
    form = shared.size() + own_.NumberOf(key_);
  }
  const MessageForm& of = form < shared.size() ? shared.at(form) : own_.at(form - shared.size());
  relations_.Relate(of, numbers_);
  columns_[0].Varint(form == prediction_.Form() ? 0 : std::uint64_t{form} + 1);
  prediction_.TookForm(form, numbers_.size());
  for (std::size_t i = 0; i < numbers_.size(); ++i) {
    const NumberKind kind = of.kinds()[i];
    columns_[static_cast<std::size_t>(kind)].ZigZag(
        WrappingDifference(numbers_[i], prediction_.Number(kind, i)));
    prediction_.TookNumber(kind, i, numbers_[i]);
  }
  ++nodes_;
}

std::string RankEncoder::Finish(std::string_view header, std::string_view hash) const {
  WireBuffer out;
  const auto put = [&out](std::string_view bytes) {
    out.Varint(bytes.size());
    out.Bytes(bytes);
  };
  put(header);
  put(hash);
  out.Varint(nodes_);
  out.Varint(own_keys_.size());
  for (const std::string& key : own_keys_) {
    put(key);
  }
  for (const WireBuffer& column : columns_) {
    put(column.bytes());
  }
  return std::string(out.bytes());
}

RankDecoder::RankDecoder(std::shared_ptr<const ReferenceRank> reference, std::string record)
    : reference_(std::move(reference)), record_(std::move(record)), prediction_(*reference_) {}

bool RankDecoder::Start() {
  WireCursor cursor(record_);
  std::uint64_t keys = 0;
  if (!cursor.Bytes(header_) || !cursor.Bytes(hash_) || !cursor.Varint(nodes_) ||
      !cursor.Varint(keys)) {
    return false;
  }
  for (std::string_view bytes; keys > 0; --keys) {
    if (!cursor.Bytes(bytes) || !own_.Add(std::string(bytes))) {
      return false;
    }
  }
  for (std::size_t i = 0; i < kNumberKinds; ++i) {
    std::string_view bytes;
    if (!cursor.Bytes(bytes)) {
      return false;
    }
    columns_.emplace_back(bytes);
  }
  return cursor.AtEnd();
}

bool RankDecoder::Difference(NumberKind kind, std::int64_t& value) {
  std::uint64_t bits = 0;
  if (!columns_[static_cast<std::size_t>(kind)].Varint(bits)) {
    return false;
  }
  value = ZigZagDecode(bits);
  return true;
}

bool RankDecoder::Next(std::string_view& message) {
  std::uint64_t mark = 0;
  const FormTable& shared = reference_->forms();
  if (!columns_[0].Varint(mark)) {
    return false;
  }
  const std::uint64_t number = mark == 0 ? prediction_.Form() : mark - 1;
  if (number >= std::uint64_t{shared.size()} + own_.size()) {
    return false;
  }
  const auto form = static_cast<std::uint32_t>(number);
  const MessageForm& of = form < shared.size() ? shared.at(form) : own_.at(form - shared.size());
  numbers_.resize(of.kinds().size());
  prediction_.TookForm(form, numbers_.size());
  for (std::size_t i = 0; i < numbers_.size(); ++i) {
    const NumberKind kind = of.kinds()[i];
    std::int64_t difference = 0;
    if (!Difference(kind, difference)) {
      return false;
    }
    numbers_[i] = WrappingSum(prediction_.Number(kind, i), difference);
    prediction_.TookNumber(kind, i, numbers_[i]);
  }
  relations_.Restore(of, numbers_);
  message = of.Join(numbers_.data(), buffer_);
  ++given_;
  return true;
}

bool RankDecoder::Complete() const {
  return AtEnd() && std::ranges::all_of(columns_, &WireCursor::AtEnd);
}

}  // namespace reprise
