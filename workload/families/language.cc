// What families of language models share.
#include "workload/families/transformer.h"
#include "workload/routing.h"

namespace reprise {

void LanguageFamily::Complete(Workload& w) const { CompleteTransformer(w.model); }

Status LanguageFamily::Check(const Workload& w) const { return CheckTransformer(w); }

std::vector<std::unique_ptr<Unit>> LanguageFamily::Units(const Workload& w, const ModelPart& part,
                                                         const Place&) const {
  return LanguageUnits(w, part);
}

std::vector<std::int64_t> LanguageFamily::HiddenShape(const Workload& w) const {
  return ActivationShape(w, OuterSequence(w), w.model.hidden);
}

std::int64_t LanguageFamily::Variant(const Workload& w, const Place& place) const {
  const std::int64_t tokens = InnerSequence(w) * w.micro_batch;
  const std::int64_t expert = EvenRouting(w, tokens) ? 0 : place.dp % w.layout.ep;
  return expert * w.layout.cp + place.cp;
}

}  // namespace reprise
