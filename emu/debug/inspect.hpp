// SPDX-License-Identifier: Apache-2.0
// Questions about a halted run, and their answers. What does not belong here: anything that lets it
// run on (debuggee.hpp). "focus" is [launch, CTA, warp, lane]; every answer may be {"error": text}.
//
//   {"do":"where","focus":F}                      who and where that lane is, its frames
//   {"do":"evaluate","expression":E,"focus":F,"format":C}   text, type, address, members
//   {"do":"examine","expression":E,"count":N,"size":N,"format":C,"focus":F}   lines
//   {"do":"disassemble","where":W,"before":N,"count":N,"focus":F}   instructions
//   {"do":"registers","names":[..],"focus":F}     names and values
//   {"do":"resolve","where":W,"focus":F}          places
//   {"do":"watch","expression":E,"focus":F}       what "stops" wants of one
//   {"do":"info","what":"warps",..,"focus":F}     rows
//   {"do":"choose","cta":..,"thread":..,...}      a focus
//   {"do":"variables","focus":F}                  of the source, with values
//   {"do":"read","address":N,"bytes":N,"focus":F} memory as hex
#pragma once

#include "emu/debug/channel.hpp"

namespace sassemu::debug {

class Debuggee;

Json inspect(const Debuggee& debuggee, const Json& request);

}  // namespace sassemu::debug
