/* SPDX-License-Identifier: MIT
 *
 * Extension sagent.resource-backend/1: what a marketplace agent asks of a cloud.
 *
 * Rules for every body and every emitted object: UTF-8 JSON, one object, unknown members ignored;
 * uuids are 32 lower-case hex digits; usage and factors are decimal strings or JSON numbers, read
 * by their text and never through binary floats; times are RFC 3339 UTC.
 *
 * Members common to bodies (absent = unknown, never a default):
 *   offering   {"uuid","name"}
 *   order {"uuid","type":"Create|Update|Terminate|Restore","created","attributes":{},"limits":{},
 *               "old_limits":{},"plan_quotas":{},"old_plan_quotas":{}}
 *   resource   {"uuid","name","slug","backend_id","attributes":{},"metadata":{},"limits":{},
 *               "project_uuid","project_slug","customer_slug","paused":bool,"downscaled":bool}
 *   tags       {"name":"value"}: written verbatim on everything the plugin creates, and, in
 *              list_resources, the filter. The plugin knows none of these names itself
 *   uuid_tag   the name of the tag whose value is the resource's uuid
 *   ssh_keys   {"<uuid hex>":"ssh-ed25519 AAAA..."}: keys the provider registered
 *   components {"cpu":{"unit_factor":"1","backend_name":"..."}}: as configured, keys set only
 *   resources  [{"uuid","backend_id"}]
 *
 * M = mandatory: a table without it is refused. I = idempotent: repeating it is safe.
 */
#ifndef SAGENT_RESOURCE_BACKEND_H
#define SAGENT_RESOURCE_BACKEND_H

#include "plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SAGENT_EXT_RESOURCE_BACKEND "sagent.resource-backend/1"

/* Sized. */
typedef struct sagent_resource_backend {
  uint32_t struct_size;
  uint32_t reserved;

  /* M. Can the cloud be used? Read-only. Budget 10 s. No body, emits nothing. */
  sagent_method ping;

  /* M. Would this order be carried out? Never writes to the cloud. Judged by the order and the
   * settings; a limit that needs a figure (a price, a count) may be held against lists that are
   * cached or read in bulk, never by a read per order. What cannot be read now is "wait": the order
   * stays as it is and is asked about again; it is never "accept" for want of a figure.
   * Body: order, resource, offering, tags, uuid_tag, ssh_keys, components.
   * Emits {"decision":"accept|reject|wait","reason":"text for the customer"; for wait: for the
   * operator}. Budget 60 s. */
  sagent_method evaluate_order;

  /* M I. Make the resource, or find the one made earlier for this idempotency_key (by tag) and
   * adopt it. Blocks until it is usable; refuses everything refusable before the first write.
   * Body: order, resource, offering, tags, uuid_tag, ssh_keys, components.
   * Emits {"backend_id","metadata":{},"endpoints":[{"name","url"}],"limits":{}?,"adopted":bool}.
   * On failure it leaves tagged objects for delete_resource; it never deletes by itself what an
   * earlier attempt made. A dry run makes every check and emits {"would_create":"id"?}. 45 min. */
  sagent_method create_resource;

  /* M I. Delete the resource; gone already is SAGENT_OK or SAGENT_E_NOT_FOUND, alike.
   * target: the backend id; or empty: everything tagged uuid_tag = idempotency_key (clean-up of a
   * create that never got a backend id; an object of another owner is never touched); or an
   * object id emitted by list_resources.
   * Body: resource, offering, tags, uuid_tag, and "keep_working_machine": true in a clean-up,
   * which then answers SAGENT_E_CONFLICT and deletes nothing when the tagged machine had reached
   * its good state before ("adopt it instead").
   * Emits {"deleted":["id"],"remaining":[{"id","reason"}]}; in a dry run, deleted is what would
   * go. An object that holds others which were not asked for stays. Budget 120 min. */
  sagent_method delete_resource;

  /* M I. Bring the machine to the state that costs least and keeps its disks. The power state is
   * read first, nothing is written when it matches.
   * Body: resource. Emits {"power":"deallocated","changed":bool,"metadata":{}}. Budget 20 min. */
  sagent_method pause;

  /* M I. As pause, for a resource that was downscaled. */
  sagent_method downscale;

  /* M I. Bring the machine back to running; read first. SAGENT_E_NO_CAPACITY when the cloud has no
   * room now. Never re-creates. Same body and result as pause ("power":"running"). */
  sagent_method restore;

  /* M I. True state of many resources, by bulk reads. Body: resources, tags, uuid_tag, components.
   * Emits one object per resource: {"uuid","presence":"present|absent|unknown","state":"ok|failed|
   * creating|deleting","backend_id","power":"running|deallocated|stopped|...|null","limits":{}?,
   * "metadata":{},"endpoints":[]?,"error":"text"?,"users":[{"username","role"?,"limits":{}?}]?,
   * "users_shared":bool?}. unknown is never absent. A read failure of the whole list may also be
   * the method's own failure. users: all whom the resource lets in now; absent = this backend keeps
   * no users, and add_members and remove_members are never called. A user's limits are there,
   * perhaps empty, only where users have limits of their own. users_shared: the users are those of
   * every resource of the project. Budget 10 min. */
  sagent_method pull_resources;

  /* M. Usage of many resources. Body: resources, components, "period":{"year":2026,"month":11},
   * "timezone". Emits per resource {"uuid","measured":false} or {"uuid","measured":true,
   * "total":{"cpu":"2"},"users":{"<username>":{"cpu":"1"}}?}, divided by unit_factor. What
   * cannot be measured is left out, never zero. Budget 10 min. */
  sagent_method report_usage;

  /* M. Everything that carries these tags. Body: tags, uuid_tag, "objects": bool, "prices": bool.
   * Emits {"backend_id","uuid","name","tags":{}?,"limits":{}?} per resource, or, with objects,
   * {"id", "kind","uuid","created_at"?,"price_month"?,"currency"?} per object. tags: all the
   * resource has, its project's too. limits: what it was given, in the units of components when the
   * body has them. price_month: decimal text, what the object costs in a month of 730 hours; only
   * asked for with prices, absent = unknown, "0" = free. Objects come in an order in which they
   * can be deleted. Budget 10 min. */
  sagent_method list_resources;

  /* M, may answer SAGENT_E_UNSUPPORTED. Absolute values. Body: resource, order. */
  sagent_method set_resource_limits;

  /* M. Emits {"name","ok":bool,"detail":"text"} per check, for the operator. Budget 60 s. */
  sagent_method diagnostics;

  /* I. Users of a resource; optional, called only for resources whose row in pull_resources has
   * users. add_members also brings the role and the limits of one who is there to what is given;
   * members left out are unknown and stay as they are. Body: resource, "users":[{"username",
   * "role"?,"login"?,"email"?,"full_name"?,"state"?,"attributes":{}?,"limits":{}?}]; remove_members
   * gets usernames alone. login: the user's name in the marketplace. Emits {"users":[{"username",
   * "done":bool,"error":"text for the operator"?}]}, every user asked for; "done":false = nothing
   * to do here for this user, which is no failure, and is not asked again. The failure of one user
   * is his row's error, never the method's. Budget 60 s. */
  sagent_method add_members;
  sagent_method remove_members;

  /* What an operator copies elsewhere. Reads only. Body: "what", components, and for options also
   * offering and, to have the choices of an existing form judged instead of the plugin's own,
   * "choices":{"<attribute>":["text"]}. Budget 10 min. By "what":
   * - role: the least rights this plugin's credentials need, in the cloud's own format. Emits one
   *   object per role, each printed as it is. Must work before the credentials do.
   * - options: the order form's choices that can be ordered now. Emits per option {"name" (the
   *   order attribute),"label","type":"select_string|text|string","required":bool,"choices":[]?,
   *   "default"?,"help_text"?,"instead":[attributes that serve as well]?,
   *   "left_out":[{"choice","reason"}]?}.
   * SAGENT_E_UNSUPPORTED for any other value. */
  sagent_method describe;
} sagent_resource_backend;

#ifdef __cplusplus
}
#endif

#endif
