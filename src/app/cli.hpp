// The command line: reads the flags, runs the verb, says what went wrong in one sentence.
#pragma once

namespace sluice::app {

/// All of main(): 0 done, 1 failed, 2 the command line makes no sense.
int run_command_line(int argc, char** argv);

}  // namespace sluice::app
