// A kernel made of functions: calls are parsed once, and what is parsed is run or lowered.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "kernels/ops/common/row_lowering.h"

namespace reprise {

// Calls that are parsed alike, such as a family's forward operators. `Call` may point into the
// OpCall that it is parsed from.
template <typename Call>
struct CallForm {
  std::optional<Call> (*parse)(const OpCall& call);  // nothing: the form does not take the call
  Status (*reference)(const Call& p, const HostBindings& memory);
  void (*lower)(const Call& p, RowLowering& rows);
  Status (*run_on_host)(const Call& p, const HostBindings& memory) = nullptr;  // none: reference
  // In place of run_on_host, for what needs more than parsing. `p` outlives what is returned.
  Result<HostRun> (*lower_to_host)(const Call& p) = nullptr;
};

struct KernelFacts {
  std::string_view name;
  const char* program = "";  // what `lower` begins with
  std::vector<OpCall> (*samples)() = nullptr;
  Kernel::Tolerance tolerance = {};
};

template <typename... Calls>
class ParsedKernel final : public Kernel {
 public:
  explicit ParsedKernel(const KernelFacts& facts, CallForm<Calls>... forms)
      : facts_(facts), forms_(forms...) {}

  [[nodiscard]] std::string_view name() const override { return facts_.name; }
  [[nodiscard]] Tolerance tolerance() const override { return facts_.tolerance; }
  [[nodiscard]] std::vector<OpCall> Samples() const override { return facts_.samples(); }
  [[nodiscard]] bool Supports(const OpCall& call) const override {
    return std::apply([&](const auto&... form) { return (form.parse(call).has_value() || ...); },
                      forms_);
  }
  [[nodiscard]] Status Reference(const OpCall& call, const HostBindings& memory) const override {
    return With(call, [&](const auto& form, const auto& p) { return form.reference(p, memory); });
  }
  [[nodiscard]] Result<HostRun> LowerToHost(const OpCall& call) const override {
    HostRun run;
    REPRISE_TRY(With(call, [&]<typename Call>(const CallForm<Call>& form, Call& p) -> Status {
      // Shared: copies of the run keep what points into the parsed call right.
      const auto parsed = std::make_shared<const Call>(std::move(p));
      if (form.lower_to_host != nullptr) {
        REPRISE_ASSIGN(HostRun lowered, form.lower_to_host(*parsed));
        run = [parsed, lowered = std::move(lowered)](const HostBindings& memory) {
          return lowered(memory);
        };
      } else {
        run = [parsed, body = form.run_on_host != nullptr ? form.run_on_host : form.reference](
                  const HostBindings& memory) { return body(*parsed, memory); };
      }
      return {};
    }));
    return run;
  }
  [[nodiscard]] Result<std::vector<Launch>> LowerToDevice(
      const OpCall& call, const LowerContext& context) const override {
    RowLowering rows(context, facts_.program);
    REPRISE_TRY(With(call, [&](const auto& form, const auto& p) {
      form.lower(p, rows);
      return Status();
    }));
    return std::move(rows).Take();
  }

 private:
  // body(form, parsed call) of the first form that takes the call.
  template <typename Body>
  [[nodiscard]] Status With(const OpCall& call, Body&& body) const {
    std::optional<Status> status;
    const auto try_form = [&](const auto& form) {
      if (auto p = form.parse(call)) {
        status = body(form, *p);
      }
      return status.has_value();
    };
    std::apply([&](const auto&... form) { static_cast<void>((try_form(form) || ...)); }, forms_);
    return status ? *status
                  : UsageError(call.name + ": arguments that the " + std::string(name()) +
                               " kernel does not take");
  }

  KernelFacts facts_;
  std::tuple<CallForm<Calls>...> forms_;
};

template <typename... Calls>
[[nodiscard]] std::unique_ptr<Kernel> MakeParsedKernel(const KernelFacts& facts,
                                                       CallForm<Calls>... forms) {
  return std::make_unique<ParsedKernel<Calls...>>(facts, forms...);
}

}  // namespace reprise
