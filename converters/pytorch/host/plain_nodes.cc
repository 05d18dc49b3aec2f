#include "converters/pytorch/host/plain_nodes.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <string_view>

namespace reprise::pytorch {
namespace {

// Which members of an object were there: of two of a name, simdjson's reader takes the first.
class Seen {
 public:
  // False: the second of its name.
  bool Add(unsigned member) {
    const unsigned bit = 1U << member;
    const bool first = (members_ & bit) == 0;
    members_ |= bit;
    return first;
  }
  [[nodiscard]] bool All(unsigned count) const { return members_ == (1U << count) - 1; }

 private:
  unsigned members_ = 0;
};

// The number of a name; one more than the last for others.
template <std::size_t kCount>
int Place(const std::array<std::string_view, kCount>& names, std::string_view name) {
  return static_cast<int>(std::find(names.begin(), names.end(), name) - names.begin());
}

}  // namespace

std::size_t KnownLists::PlaceOf(std::string_view text) {
  constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15;  // 2^64 / the golden ratio
  std::uint64_t hash = text.size();
  std::uint64_t word = 0;
  for (; text.size() >= sizeof(word); text.remove_prefix(sizeof(word))) {
    std::memcpy(&word, text.data(), sizeof(word));
    hash = (hash ^ word) * kOdd;
    hash ^= hash >> 32;
  }
  word = 0;
  std::memcpy(&word, text.data(), text.size());
  return ((hash ^ word) * kOdd) >> (64 - kPlaceBits);
}

const KnownLists::Lists* KnownLists::Find(std::string_view text) const {
  if (text.empty()) {
    return nullptr;
  }
  const Lists& lists = lists_[PlaceOf(text)];
  return lists.text == text ? &lists : nullptr;
}

void KnownLists::Add(std::string_view text, std::span<const PlainEntry> tape,
                     const std::array<std::size_t, 3>& places) {
  Lists& lists = lists_[PlaceOf(text)];
  lists.tape.assign(tape.begin(), tape.end());
  lists.text = text;
  for (PlainEntry& entry : lists.tape) {
    if (entry.kind == PlainEntry::Kind::kString) {
      if (entry.text < text.data() || entry.text > text.data() + text.size()) {
        lists.text.clear();  // it had escapes
        return;
      }
      entry.text = lists.text.data() + (entry.text - text.data());
    }
  }
  const auto list = [&](std::size_t place) {
    return place == kAbsent ? PlainElement() : PlainElement(&lists.tape[place]);
  };
  lists.shapes = list(places[0]);
  lists.types = list(places[1]);
  lists.strides = list(places[2]);
}

bool PlainNodes::Read(const JsonBatch& batch, BatchStrings& strings, std::vector<HostNode>& nodes,
                      std::vector<std::uint8_t>& oddities) {
  const std::size_t before = nodes.size();
  const auto element = [&] {
    return ReadNode(strings, nodes.emplace_back(), oddities.emplace_back());
  };
  return json_.Begin(batch.text.text()) && json_.Array(element) && json_.AtEnd() &&
         (batch.last || nodes.size() > before);
}

bool PlainNodes::ReadNode(BatchStrings& strings, HostNode& node, std::uint8_t& oddities) {
  enum Member : int { kId, kName, kCaller, kInputs, kOutputs, kAttributes, kCount };
  constexpr std::array<std::string_view, kCount> kNames = {"id",     "name",    "ctrl_deps",
                                                           "inputs", "outputs", "attrs"};
  Seen seen;
  node.op_schema = strings.Intern("");
  std::int64_t number = 0;
  const auto member = [&](int id) {
    if (id < kCount && !seen.Add(static_cast<unsigned>(id))) {
      return false;
    }
    switch (id) {
      case kId: {
        const bool is = json_.Integer(number) && number >= 0;
        node.id = static_cast<std::uint64_t>(number);
        return is && node.id < kNodeIdLimit;
      }
      case kName: {
        std::string_view name;
        const bool is = json_.String(name);
        node.name = strings.Intern(name);
        return is;
      }
      case kCaller: {
        const bool is = json_.Integer(number) && number >= 0;
        node.caller = static_cast<std::uint64_t>(number);
        return is;
      }
      case kInputs:
        return ReadArguments(node.inputs, oddities);
      case kOutputs:
        return ReadArguments(node.outputs, oddities);
      case kAttributes:
        return ReadAttributes(strings, node, oddities);
      default:
        tape_.clear();
        return json_.Value(tape_);
    }
  };
  // Older versions call the caller "parent".
  const auto id_of = [&](std::string_view key) {
    return key == "parent" ? -1 : Place(kNames, key);
  };
  return json_.Object(node_keys_, id_of, member) && seen.All(kCount);
}

bool PlainNodes::ReadArguments(ValueList& out, std::uint8_t& oddities) {
  constexpr std::array<std::string_view, 4> kNames = {"values", "shapes", "types", "strides"};
  std::array<std::size_t, kNames.size()> places{};  // on the tape
  Seen seen;
  const KnownLists::Lists* known = nullptr;
  std::string_view rest;  // of the object, behind the values
  std::size_t values_end = 0;
  const auto member = [&](int id) {
    const auto i = static_cast<unsigned>(id);
    if (i < kNames.size()) {
      places[i] = tape_.size();
      if (!seen.Add(i)) {
        return false;
      }
    }
    return json_.Value(tape_);
  };
  const auto id_of = [&](std::string_view key) { return Place(kNames, key); };
  tape_.clear();
  tape_.emplace_back();  // null, for those that are not there
  std::size_t first = 0;
  if (int id = 0; json_.Skip(argument_keys_, 0, id)) {
    if (!member(id)) {
      return false;
    }
    first = 1;
    rest = id == 0 ? json_.UpTo('}', KnownLists::kLongest) : rest;
    values_end = tape_.size();
    known = known_.Find(rest);
  }
  bool odd = false;
  const auto list = [&](std::size_t i) { return PlainElement(&tape_[places[i]]); };
  if (known != nullptr) {
    json_.Pass(rest.size());
    out = ParseArguments({list(0), known->shapes, known->types, known->strides}, odd);
  } else {
    if (!json_.Members(argument_keys_, first, id_of, member)) {
      return false;
    }
    if (!rest.empty() && json_.at() == rest.data() + rest.size()) {
      std::array<std::size_t, 3> in_rest{};
      for (std::size_t i = 0; i < in_rest.size(); ++i) {
        in_rest[i] = places[i + 1] == 0 ? KnownLists::kAbsent : places[i + 1] - values_end;
      }
      known_.Add(rest, std::span(tape_).subspan(values_end), in_rest);
    }
    out = ParseArguments({list(0), list(1), list(2), list(3)}, odd);
  }
  oddities |= odd ? kListsDiffer : 0;
  return true;
}

// [{"name": "rf_id", "type": "uint64", "value": 4}, …]: all but the value is mostly as it was in
// the node before.
bool PlainNodes::ReadAttributes(BatchStrings& strings, HostNode& node, std::uint8_t& oddities) {
  HostFields<PlainElement> fields(strings, node, oddities);
  for (std::size_t i = 0;; ++i) {
    int id = 0;
    std::size_t value = 0;
    tape_.clear();
    if (json_.Skip(attributes_, i, id)) {
      if (!json_.Value(tape_) || !json_.Take('}')) {
        return false;
      }
    } else {
      const char* const begin = json_.at();
      if (i > 0 && json_.Take(']')) {
        return true;
      }
      if (!json_.Take(i == 0 ? '[' : ',')) {
        return false;
      }
      if (i == 0 && json_.Take(']')) {
        return true;
      }
      HostField field{};
      const char* value_begin = nullptr;
      if (!ReadAttribute(field, value, value_begin)) {
        return false;
      }
      id = static_cast<int>(field);
      if (value_begin != nullptr) {
        PlainJson::Remember(attributes_, i, begin, value_begin, id);
      }
    }
    fields.Read(static_cast<HostField>(id), PlainElement(&tape_[value]));
  }
}

// `value` is its place on the tape, `heading_end` where it begins, if nothing else follows it.
bool PlainNodes::ReadAttribute(HostField& field, std::size_t& value, const char*& heading_end) {
  enum Member : int { kName, kValue, kCount };
  constexpr std::array<std::string_view, kCount> kNames = {"name", "value"};
  Seen seen;
  const auto member = [&](int id) {
    heading_end = id == kValue ? json_.at() : nullptr;
    if (id < kCount && !seen.Add(static_cast<unsigned>(id))) {
      return false;
    }
    if (id == kName) {
      std::string_view name;
      const bool is = json_.String(name);
      field = HostFieldOf(name);
      return is;
    }
    value = id == kValue ? tape_.size() : value;
    return json_.Value(tape_);
  };
  const auto id_of = [&](std::string_view key) { return Place(kNames, key); };
  return json_.Object(attribute_keys_, id_of, member) && seen.All(kCount);
}

}  // namespace reprise::pytorch
