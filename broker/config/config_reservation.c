/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The settings of reservations, and what must hold of their prices.
 */
#include "base/text.h"
#include "broker/config/config_tables.h"

const struct setting config_reservation_settings[CONFIG_RESERVATION_SETTINGS] = {
    { "machine", SETTING_TEXT, offsetof(struct config_reservation, machine), NULL, 0, 0,
      "machine type: a3-megagpu-8g" },
    { "region", SETTING_TEXT, offsetof(struct config_reservation, region), NULL, 0, 0,
      "region, as schedules call it" },
    { "zone", SETTING_TEXT, offsetof(struct config_reservation, zone), NULL, 0, 0,
      "the one zone in which its machines are" },
    { "gpus_per_node", SETTING_INT, offsetof(struct config_reservation, gpus_per_node), NULL, 1,
      1024, "GPUs of one machine" },
    { "nodes", SETTING_INT, offsetof(struct config_reservation, nodes), NULL, 1, 100000,
      "machines that are paid for" },
    { "ends", SETTING_TEXT, offsetof(struct config_reservation, ends_text), "", 0, 0,
      "time with zone, such as `2026-12-01T11:00:00Z`, from which its machines are gone: nothing "
      "is "
      "planned on them. AWS ends instances of a Capacity Block 30 minutes before the block" },
    { "price", SETTING_DOUBLE, offsetof(struct config_reservation, price), "0", 0, 100000,
      "of one GPU for one hour, for metrics and dashboards; 0: not known. No plan depends on it" },
    { "price_currency", SETTING_TEXT, offsetof(struct config_reservation, price_currency), "", 0, 0,
      "of the price: `USD`" },
    { "price_basis", SETTING_TEXT, offsetof(struct config_reservation, price_basis), "", 0, 0,
      "what the price rests on: `3y commitment`" },
    { "price_date", SETTING_TEXT, offsetof(struct config_reservation, price_date), "", 0, 0,
      "date of the price: `2026-10-01`" },
};

int config_check_prices(const struct config *config, struct error *err)
{
    for (size_t i = 0; i < config->reservation_count; i++) {
        const struct config_reservation *reservation = &config->reservations[i];

        if (reservation->price > 0 && !reservation->price_currency)
            return yaml_error(err, config_place(config, "reservations", i, "price"),
                              "a price needs its price_currency");
        if (!(reservation->price > 0) && reservation->price_currency)
            return yaml_error(err, config_place(config, "reservations", i, "price_currency"),
                              "there is no price to be in it");
    }
    return 0;
}
