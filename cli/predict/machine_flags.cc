#include "cli/predict/machine_flags.h"

#include <string>

namespace reprise {

void AddMachineFlags(CLI::App& app, MachineRequest& request, const std::string& machine_help) {
  app.add_option("--machine", request.machine,
                 "name (`reprise list machines`) or file (docs/machine_format.md)" + machine_help);
  app.add_option("--set", request.overrides,
                 "another value of a number of --machine: PATH=VALUE[UNIT]")
      ->take_all()
      ->allow_extra_args(false);
  app.add_option("--slow", request.slow_ranks, "RANK=F: operations of a rank take F times as long")
      ->take_all()
      ->allow_extra_args(false);
  app.add_option("--link", request.slow_links,
                 "NAME=F or NAME@DOMAIN=F: factor on a link's bandwidth, everywhere or of one "
                 "domain (a node's adapters: the node's number); all=F: of all links")
      ->take_all()
      ->allow_extra_args(false);
  app.add_option_function<std::string>(
         "--network", [&request](const std::string& name) { request.flow = name == "flow"; },
         "alpha-beta: latency and bandwidth, links shared by groups that are alike; flow: "
         "links shared by what transfers at the same time (default: alpha-beta)")
      ->check(CLI::IsMember({"alpha-beta", "flow"}));
  app.add_option("--power-limit", request.power_limit,
                 "power that no device exceeds, as in 500W: clocks fall where it would (default: "
                 "the machine's limit)");
  app.add_flag("--until-steady", request.until_steady,
               "the step repeats until temperatures do: devices throttle by heat, and those behind "
               "others stand in warm air");
}

}  // namespace reprise
