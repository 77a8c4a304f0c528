/* SPDX-License-Identifier: MIT
 *
 * Extension sagent.cloud-host-provider/1: what a fleet owner's tool asks of a cloud to rent build
 * hosts there. Version 0 of this interface: free to change until the freeze.
 *
 * Rules for every body and every emitted object: UTF-8 JSON, one object, unknown members ignored;
 * money is decimal text in a JSON string ("0.384") and never passes through binary floats; times
 * are RFC 3339 UTC; addresses are IP literals.
 *
 * Settings of an instance (request->body of create), checked by the plugin's schema for this
 * extension and then by validate_settings, offline:
 *   {"bindings":{"<key>":"text" or ["text"]},    keys of describe, declared ones only
 *    "credentials":{"control":{"<field>":"text"},"billing":{...}},    absent = none stored
 *    "options":{...},        the provider's section of the profile without bindings and the credit
 *                            floor; verbatim
 *    "limits":{"operation_s":1200,"rollback_retry_s":240,"poll_ms":5000}}
 * Fields named in "secret_fields" of describe arrive as references to read through
 * sagent.secrets/1 (services.h). A plugin reads no file and no environment of its own.
 *
 * Members common to bodies:
 *   name       the registry's name of the host: [a-z0-9._-], at most 64 characters
 *   vm_id      the generation id of the machine, as create_host emitted it: another machine under
 *              the same name is never touched
 *   resources  the opaque object create_host emitted, stored and given back verbatim
 *   tags       {"name":"value"}: written verbatim on everything the plugin makes. tag: the name of
 *              the one whose value is the host's name. The plugin knows none of them itself
 *
 * Failures: as in plugin.h. `message` is a finished sentence the tool prints; `detail` carries
 * {"http_status","provider_code","assignment","resource":{"kind","id"},
 *  "created":[{"kind","id"}],"not_removed":[{"kind","id","cause"}]} where they apply.
 * Kinds are the provider's own words in lower case with dashes ("virtual-machine").
 *
 * Every cloud write is announced by checkpoint (plugin.h) before and after; a create or removal
 * that is done is announced with {"phase":"after","verb":"put|delete","kind","id"}: the tool
 * journals it. A non-zero answer of checkpoint in create_host means: stop, undo nothing, return
 * that code; the tool undoes with delete_host.
 *
 * Locations are compared without case. M = mandatory, I = idempotent.
 */
#ifndef SAGENT_CLOUD_HOST_PROVIDER_H
#define SAGENT_CLOUD_HOST_PROVIDER_H

#include "plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SAGENT_EXT_CLOUD_HOST_PROVIDER "sagent.cloud-host-provider/1"

/* Sized. */
typedef struct sagent_cloud_host_provider {
  uint32_t struct_size;
  uint32_t reserved;

  /* M. Static JSON text, needs no instance and does no I/O [any-thread]:
   * {"display_name":"Name",
   *  "bindings":[{"key","env","list":bool?}],
   *  "optional_bindings":[{"key","env","list":bool?}],
   *  "login_binding":"key",
   *  "locations_binding":"key"?,
   *  "reserved_logins":["root",...],
   *  "address_families":["ipv4"],
   *  "admits_private":bool,
   *  "user_data_max_bytes":65535,
   *  "name_max":64,
   *  "key_types":["ed25519"],
   *  "credentials":{"control":{"item","item_env","fields":[..],"secret_fields":[..]},
   *                 "billing":{..}}}
   * display_name: for sentences. bindings: all required, in the order refusals print them; keys are
   * relative to the provider's section of the profile; env: the variable that overrides it, ""
   * for none. login_binding: which required binding is the login account. locations_binding: which
   * optional binding lists the configured locations. item: the credential store's item; item_env:
   * the variable that names another, "" for none. fields: what is handed over of it; secret_fields:
   * which of these are secret. */
  const char* (*describe)(void);

  /* M. Local rules only. Body: name, location, size, disk_gb. Emits {"size": canonical spelling}.
   * SAGENT_E_INVALID with detail {"field":"size"} when the provider could not make it. 60 s. */
  sagent_method validate_host;

  /* M. Body: size, locations[]. Emits one object
   * {"quotes":[{"location","hour","currency","meter"}],"size": canonical spelling,"source",
   *  "read_at"}: on-demand consumption hours only, every page read; several per location are
   * allowed. A page that fails is the method's failure. No quote at all is an empty
   * list. Needs no credentials. 10 min. */
  sagent_method price_size;

  /* M. Read live. Emits {"reported":bool,"current":"900.00"?,"estimated":"880.10"?,"currency"?,
   * "scope","read_at"}; reported=false: this agreement tells no credit ("reason" says why). 60 s.
   */
  sagent_method credit_balance;

  /* M I. Admit exactly `addresses` on TCP `port` and nothing else.
   * Body: addresses[], group (rule's and groups' name), port, ensure_location (text or null: make
   * what that location needs), locations[] (bring their rules up to date; includes
   * ensure_location), hosts:[{"name","location","vm_id","resources"}] (bring each host's own group
   * up to date), tags. Everything else in those networks stays as it is. Writes only what differs.
   * Emits {"locations":[{"location","group_id","rule":"created|updated|unchanged|none","rule_id"?,
   * "priority"?}],"hosts":[{"name","outcome":"updated|unchanged|absent"}],"warnings":["text"]}.
   * A dry run reads and checks all the same, writes nothing; "rule" then says what would be done
   * and group_id may be null. 20 min. */
  sagent_method admit_addresses;

  /* M. Make the host; all or nothing: on failure it removes what this call made, in reverse order,
   * each confirmed, and reports created[] and not_removed[] in detail. Objects that were there
   * before are never written or removed (SAGENT_E_CONFLICT naming kind and id, before the first
   * write).
   * Body: name, location, size, disk_gb, login, public_key, user_data (text, opaque), addresses[],
   * group, port, group_id (of admit_addresses), tags.
   * Emits {"address","ssh_port":22,"vm_id","created_at"?,"resources":{}}. A dry run makes every
   * check (subnet, image, size, quota, names, rights) and emits
   * {"checks":[{"name","ok","detail"}]}; there, public_key and user_data may be empty and group_id
   * null. 60 min. */
  sagent_method create_host;

  /* M. Body: name, vm_id, resources. Emits {"state":"running|deallocated|absent|<the provider's own
   * word>","vm_id"?}. absent also when another generation holds the name. 60 s. */
  sagent_method host_state;

  /* M. Everything that carries the tag `tag`, whoever made it. Body: tag. Emits one object per
   * name:
   * {"name","vm_id"?,"location","state","created_at"?,"tags":{},"resources":{},
   * "objects":[{"kind","id"}]}; a name without a machine has state "absent" and no vm_id. 10 min.
   */
  sagent_method list_hosts;

  /* M I. Remove machine with its system disk, interface, group, address: each followed to the end
   * of the cloud's operation and confirmed gone; transient answers retried for rollback_retry_s.
   * Body: name, vm_id (null: whatever carries the tags with this name), resources (null likewise),
   * tag. Emits {"released":[{"kind","id","outcome":"deleted|already_gone"}],"held":[{"kind","id",
   * "cause","retryable":bool?}]}: held is no failure of the method; retryable: the cause passes by
   * itself (throttling, an outage, an object that waits for another one here). A machine of another
   * generation is held, and nothing else is tried. Dry run: released lists what would go. 120 min.
   */
  sagent_method delete_host;

  /* M. Can hosts be rented at all? Body: locations[]. Emits {"name","ok":bool,"detail":"text",
   * "needed":bool} per check: credentials, rights, network per location, image, billing; needed =
   * false for what create can do without. 60 s. */
  sagent_method check;
} sagent_cloud_host_provider;

#ifdef __cplusplus
}
#endif

#endif
