#include "core/operator_arguments.h"

#include "core/operator_table.h"

namespace reprise {

const ArgumentPlaces& ArgumentPlaces::Of(std::string_view op) {
  static constexpr ArgumentPlaces kNone;
  const OperatorRow* row = FindOperatorRow(op);
  if ((row == nullptr || row->arguments.empty()) && op.ends_with('_')) {
    row = FindOperatorRow(op.substr(0, op.size() - 1));
  }
  return row == nullptr ? kNone : row->arguments;
}

int ArgumentPlaces::At(std::string_view key) const {
  const Place* place = Find(key);
  return place == nullptr ? -1 : place->at;
}

std::vector<int> ArgumentPlaces::All(std::string_view key) const {
  std::vector<int> all;
  for (std::size_t i = 0; i < count_; ++i) {
    if (KeyOf(places_[i]) == key) {
      all.push_back(places_[i].at);
    }
  }
  return all;
}

std::optional<double> ArgumentPlaces::Default(std::string_view key) const {
  const Place* place = Find(key);
  return place == nullptr || !place->has_default ? std::nullopt : std::optional(place->absent);
}

std::string_view ArgumentPlaces::Word(std::string_view key) const {
  const Place* place = Find(key);
  return place == nullptr || place->equals == place->end
             ? std::string_view()
             : text_.substr(place->equals + 1, place->end - place->equals - 1);
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
  for (std::size_t i = 0; i < count_; ++i) {
    if (KeyOf(places_[i]) == key) {
      return &places_[i];
    }
  }
  return nullptr;
}

}  // namespace reprise
