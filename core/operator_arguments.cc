#include "core/operator_arguments.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <string>
#include <unordered_map>

#include "core/operators.h"

namespace reprise {
namespace {

std::optional<double> ParseDefault(std::string_view text) {
  const bool negative = text.starts_with('-');
  const std::string_view magnitude = text.substr(negative ? 1 : 0);
  double value = 0;
  if (magnitude == "inf") {
    value = std::numeric_limits<double>::infinity();
  } else if (magnitude == "most") {
    value = std::numeric_limits<double>::max();
  } else if (std::from_chars(magnitude.data(), magnitude.data() + magnitude.size(), value).ec !=
             std::errc()) {
    return std::nullopt;
  }
  return negative ? -value : value;
}

}  // namespace

ArgumentPlaces::ArgumentPlaces(std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::size_t equals = word.find('=');
    Place place{.key = word.substr(0, equals)};
    if (equals != std::string_view::npos) {
      place.word = word.substr(equals + 1);
      const char* const last = place.word.data() + place.word.size();
      const auto [after, error] = std::from_chars(place.word.data(), last, place.at);
      if (error == std::errc() && after != last) {
        place.absent =
            ParseDefault(std::string_view(after + 1, static_cast<std::size_t>(last - after) - 1));
      }
    }
    places_.push_back(place);
  }
}

const ArgumentPlaces& ArgumentPlaces::Of(std::string_view op) {
  static const auto table = [] {
    std::unordered_map<std::string_view, ArgumentPlaces> places;
    for (const OperatorRow& row : OperatorRows()) {
      if (!row.arguments.empty()) {
        places.emplace(row.name, ArgumentPlaces(row.arguments));
      }
    }
    return places;
  }();
  static const ArgumentPlaces none("");
  auto it = table.find(op);
  if (it == table.end() && op.ends_with('_')) {
    it = table.find(op.substr(0, op.size() - 1));
  }
  return it == table.end() ? none : it->second;
}

int ArgumentPlaces::At(std::string_view key) const {
  const Place* place = Find(key);
  return place == nullptr ? -1 : place->at;
}

std::vector<int> ArgumentPlaces::All(std::string_view key) const {
  std::vector<int> all;
  for (const Place& place : places_) {
    if (place.key == key) {
      all.push_back(place.at);
    }
  }
  return all;
}

std::optional<double> ArgumentPlaces::Default(std::string_view key) const {
  const Place* place = Find(key);
  return place == nullptr ? std::nullopt : place->absent;
}

std::string_view ArgumentPlaces::Word(std::string_view key) const {
  const Place* place = Find(key);
  return place == nullptr ? std::string_view() : place->word;
}

const TensorDesc* ArgumentPlaces::Tensor(const OpCall& call, std::string_view key) const {
  const int at = At(key);
  return at < 0 ? nullptr : call.InputTensor(static_cast<std::size_t>(at));
}

double ArgumentPlaces::Number(const OpCall& call, std::string_view key, double absent) const {
  const auto at = static_cast<std::size_t>(At(key));  // -1: beyond every call
  return at < call.inputs.size() ? call.inputs[at].AsNumber<double>(absent) : absent;
}

std::vector<std::int64_t> ArgumentPlaces::Ints(const OpCall& call, std::string_view key) const {
  const int at = At(key);
  return at < 0 ? std::vector<std::int64_t>() : call.InputInts(static_cast<std::size_t>(at));
}

const ArgumentPlaces::Place* ArgumentPlaces::Find(std::string_view key) const {
  for (const Place& place : places_) {
    if (place.key == key) {
      return &place;
    }
  }
  return nullptr;
}

}  // namespace reprise
